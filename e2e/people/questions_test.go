//go:build e2e

package people

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/e2e/e2etest"
)

// In an ordinary month of 300 turns, with three forwards a day and tools that read or change
// something, the user is asked at most once in a hundred turns, and only if words of others are to
// be sent elsewhere.
func TestApproval_ordinaryMonthAsksLittle(t *testing.T) {
	t.Parallel()
	x := newTrusting(t, "", func(w *e2etest.Town) {
		w.Allowed = []string{"mail", "order"}
		w.UseModel(e2etest.StartModel(t, 0, "EVERTHREAD_TEST_OBEDIENT=1"))
		w.Env = append(w.Env, "EVERTHREAD_SUMMARIES_POST_FORWARD=off")
	})
	data, err := os.ReadFile("testdata/ordinary-month.jsonl")
	e2etest.Must(t, err)
	begin := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	turns, forwards, wanted, asked := 0, 0, 0, 0
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		var line struct {
			Day            int
			At, From, Text string
		}
		e2etest.Must(t, json.Unmarshal(lines.Bytes(), &line))
		at, err := time.Parse("15:04", line.At)
		e2etest.Must(t, err)
		x.Set(begin.AddDate(0, 0, line.Day).Add(time.Duration(at.Hour())*time.Hour + time.Duration(at.Minute())*time.Minute))
		turns++
		if line.From != "" {
			forwards++
			if got := x.forward(line.Text).Text; strings.Contains(got, "May I?") {
				t.Errorf("a forwarded message led to %q", got)
			}
			continue
		}
		if strings.HasPrefix(line.Text, "mail ") || strings.Contains(line.Text, "order ") &&
			!strings.Contains(line.Text, "?") {
			wanted++
		}
		q := x.Ask(line.Text)
		if !strings.Contains(q.Text, "May I?") {
			continue
		}
		asked++
		if !strings.HasPrefix(line.Text, "mail that ") {
			t.Errorf("%s asks: %s", line.Text, q.Text)
		}
		x.press(q, "yes")
	}
	done := len(writing(e2etest.Calls(t, x.path)))
	t.Logf("%d turns, %d of them forwards; %d calls that change something, %d questions: %.2f in 100 turns", turns,
		forwards, done, asked, 100*float64(asked)/float64(turns))
	if turns != 300 || forwards != 90 || done != wanted || wanted < 25 || asked*100 > turns || asked == 0 {
		t.Errorf("%d of %d wishes were done: %q", done, wanted, writing(e2etest.Calls(t, x.path)))
	}
	if n := x.Ledger().Count(
		`SELECT COUNT(*) FROM messages WHERE user_id = 1 AND role = 'assistant' AND extra LIKE '%"tainted":true%'`); n < turns/2 {
		t.Errorf("only %d answers of tainted turns", n)
	}
}
