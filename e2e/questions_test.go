//go:build e2e

package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"
)

// An ordinary month of 300 turns, with three forwards a day, tools that read and
// listed ones that change something: the person is asked at most once in a hundred
// turns, and only where what is to leave is made from words of others.
func TestAnOrdinaryMonthAsksLittle(t *testing.T) {
	t.Parallel()
	x := newTrusting(t, "", func(w *town) {
		w.allowed = []string{"mail", "order"}
		w.useModel(startModel(t, 0, "EVERTHREAD_TEST_OBEDIENT=1"))
		w.env = append(w.env, "EVERTHREAD_SUMMARIES_POST_FORWARD=off")
	})
	data, err := os.ReadFile("testdata/ordinary-month.jsonl")
	must(t, err)
	begin := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	turns, forwards, wanted, asked := 0, 0, 0, 0
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		var line struct {
			Day            int
			At, From, Text string
		}
		must(t, json.Unmarshal(lines.Bytes(), &line))
		at, err := time.Parse("15:04", line.At)
		must(t, err)
		x.set(begin.AddDate(0, 0, line.Day).Add(time.Duration(at.Hour())*time.Hour + time.Duration(at.Minute())*time.Minute))
		turns++
		if line.From != "" {
			forwards++
			if got := x.forward(line.Text).Text; strings.Contains(got, "May I?") {
				t.Errorf("a forwarded message led to %q", got)
			}
			continue
		}
		if strings.HasPrefix(line.Text, "mail ") || strings.Contains(line.Text, "order ") && !strings.Contains(line.Text, "?") {
			wanted++
		}
		q := x.ask(line.Text)
		if !strings.Contains(q.Text, "May I?") {
			continue
		}
		asked++
		if !strings.HasPrefix(line.Text, "mail that ") {
			t.Errorf("%s asks: %s", line.Text, q.Text)
		}
		x.press(q, "yes")
	}
	done := len(writing(calls(t, x.path)))
	t.Logf("%d turns, %d of them forwards; %d calls that change something, %d questions: %.2f in 100 turns", turns, forwards, done, asked, 100*float64(asked)/float64(turns))
	if turns != 300 || forwards != 90 || done != wanted || wanted < 25 || asked*100 > turns || asked == 0 {
		t.Errorf("%d of %d wishes were done: %q", done, wanted, writing(calls(t, x.path)))
	}
	if n := x.ledger().count(`SELECT COUNT(*) FROM messages WHERE user_id = 1 AND role = 'assistant' AND extra LIKE '%"tainted":true%'`); n < turns/2 {
		t.Errorf("only %d answers came of turns that had read words of others", n)
	}
}
