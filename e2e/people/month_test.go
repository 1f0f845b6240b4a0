//go:build e2e

package people

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/everthread/everthread/e2e/e2etest"
)

// A month in two languages, then questions on Telegram and in the terminal about things
// from weeks ago: the answers rest on the right message, both stores find the same in the
// same order, and nobody finds another person's messages.
func TestSearch_findsWhatWasSaidWeeksAgo(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	found := map[string][]string{} // by store
	t.Cleanup(func() {
		if len(found) == 2 {
			if diff := cmp.Diff(found["sqlite"], found["postgres"]); diff != "" {
				t.Errorf("the stores find different things (-sqlite +postgres):\n%s", diff)
			}
		}
	})
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := newMonth(t, database(t))
		g := w.Start("EVERTHREAD_SUMMARIES_POST_FORWARD=off", "EVERTHREAD_SUMMARIES_AFTER_MESSAGES=100000",
			"EVERTHREAD_CONTEXT_MIN_TURNS=5") // Bob says little: a prompt would hold his whole month, and nothing be left to find
		w.live()
		l := w.Ledger()
		w.digest(l, g)
		all := e2etest.Facts()
		for _, f := range all[:8] {
			w.right(l, f, w.Ask(f.Question).Text)
		}
		out := w.terminal(questions(all[8:]))
		for _, f := range all[8:] {
			w.right(l, f, out)
		}
		n := len(w.Telegram.Sent(e2etest.Bob))
		w.Say(e2etest.Bob, all[0].Question)
		answer := w.Town.Sent(e2etest.Bob, n+1)
		if got := answer[len(answer)-1].Text; !strings.Contains(got, all[0].Other) || strings.Contains(got, "sage green") {
			t.Errorf("Bob got %q", got)
		}
		w.onlyOwn(l)
		mu.Lock()
		defer mu.Unlock()
		found[filepath.Base(t.Name())] = w.searches(l, all)
	})
}

// month is a town of two people with a month of messages.
type month struct{ *e2etest.Week }

func newMonth(t *testing.T, database string) month {
	t.Helper()
	script := map[string]string{}
	for _, f := range e2etest.Facts() {
		if f.Answered != "" {
			script[f.Said] = f.Answered
		}
	}
	w := e2etest.NewClock(t, database)
	w.UseModel(e2etest.StartModel(t, 0, "EVERTHREAD_TEST_RECALL=1", "EVERTHREAD_TEST_SCRIPT="+
		e2etest.WriteJSON(t, script)))
	return month{w}
}

// live sends the month's messages in sittings, each answered as a whole.
func (w month) live() {
	ours, theirs := e2etest.NewChatter(1), e2etest.NewChatter(2)
	for n := 1; n <= e2etest.DaysOfMonth; n++ {
		w.Set(time.Date(2026, 10, n, 9, 0, 0, 0, time.UTC))
		for i, texts := range ours.Day(n, func(f e2etest.Fact) string { return f.Said }) {
			w.Set(time.Date(2026, 10, n, 9+3*i, 0, 0, 0, time.UTC))
			w.sitting(e2etest.Ada, texts)
		}
		var texts []string
		for _, f := range e2etest.Facts() {
			if f.Day == n {
				texts = append(texts, f.Other)
			}
		}
		for len(texts) < e2etest.PerOther {
			texts = append(texts, theirs.Next())
		}
		w.sitting(e2etest.Bob, texts)
	}
}

// sitting sends several messages that are answered together: the assistant is paused
// meanwhile, so that there is one answer on any machine.
func (w month) sitting(chat int64, texts []string) {
	w.T.Helper()
	n := len(w.Telegram.Sent(chat))
	w.Say(chat, "/pause")
	w.Town.Sent(chat, n+1)
	for _, text := range texts {
		w.Say(chat, text)
	}
	e2etest.Must(w.T, w.Telegram.Wait(w.T.Context(), func() bool { return w.Telegram.Pending() == 0 }))
	w.Say(chat, "/pause")
	w.Town.Sent(chat, n+3)
	w.Week.Sent = len(w.Telegram.Sent(e2etest.Ada))
}

// Say sends a message of a chat's person, at the test's time.
func (w month) Say(chat int64, text string) {
	w.Next++
	m := e2etest.Written(chat, w.Next, text)
	m["date"] = w.Now().Unix()
	if chat == e2etest.Bob {
		m["from"] = map[string]any{"id": e2etest.Bob, "is_bot": false, "first_name": "Bob", "language_code": "en"}
	}
	w.Telegram.Offer(map[string]any{"message": m})
}

// digest advances the clock by some days, until all days are closed and indexed.
func (w month) digest(l *e2etest.Ledger, g *e2etest.Gateway) {
	w.T.Helper()
	w.Set(time.Date(2026, 11, 2, 10, 0, 0, 0, time.UTC))
	l.Until(
		`SELECT (SELECT COUNT(*) FROM segments WHERE state = 'open' OR version = 0) + (SELECT COUNT(*) FROM users WHERE id > 0 AND indexed < last_message)
		+ (SELECT COUNT(*) FROM jobs WHERE queue = 'summarize' AND state IN ('ready', 'running', 'waiting'))`, 0, g)
	if n := l.Count(`SELECT COUNT(*) FROM messages WHERE user_id`+e2etest.OfChat+` AND kind = 'chat' AND role = 'user'`,
		fmt.Sprint(e2etest.Ada)); n != e2etest.DaysOfMonth*e2etest.PerDay {
		w.T.Fatalf("Ada wrote %d messages, %d are stored", e2etest.DaysOfMonth*e2etest.PerDay, n)
	}
}

// right checks that an answer rests on the message of a fact.
func (w month) right(l *e2etest.Ledger, f e2etest.Fact, answer string) {
	w.T.Helper()
	ids := l.Lines(`SELECT id FROM messages WHERE user_id`+e2etest.OfChat+` AND body = $2`,
		fmt.Sprint(e2etest.Ada), f.Evidence())
	if len(ids) != 1 {
		w.T.Fatalf("%q is stored as %v", f.Evidence(), ids)
	}
	if want := fmt.Sprintf("On 2026-10-%02d (#%s): %s", f.Day, ids[0], f.Evidence()); !strings.Contains(answer, want) {
		w.T.Errorf("%s\ngot  %s\nwant %s", f.Question, answer, want)
	}
}

// terminal asks a question of Ada in a terminal while the server runs, and returns the output.
func (w month) terminal(lines []string) string {
	w.T.Helper()
	cmd := exec.CommandContext(w.T.Context(), e2etest.Program, "chat", "--user", "Ada")
	cmd.Dir, cmd.Env = w.Dir, append([]string{"HOME=" + w.Dir}, w.Env...)
	cmd.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.T.Fatalf("chat: %v\n%s", err, out)
	}
	return string(out)
}

func questions(all []e2etest.Fact) []string {
	var out []string
	for _, f := range all {
		out = append(out, f.Question)
	}
	return out
}

// onlyOwn checks that no tool result contains the other person's messages.
func (w month) onlyOwn(l *e2etest.Ledger) {
	w.T.Helper()
	for chat, not := range map[int64]func(e2etest.Fact) string{e2etest.Ada: func(f e2etest.Fact) string { return f.Other },
		e2etest.Bob: e2etest.Fact.Evidence} {
		results := l.Lines(`SELECT body FROM messages WHERE user_id`+e2etest.OfChat+` AND role = 'tool'`, fmt.Sprint(chat))
		if len(results) < 2 {
			w.T.Fatalf("chat %d has %d results of tools", chat, len(results))
		}
		for _, f := range e2etest.Facts() {
			if n := slices.IndexFunc(results, func(s string) bool { return strings.Contains(s, not(f)) }); n >= 0 {
				w.T.Errorf("chat %d was shown what another person said: %s", chat, results[n])
			}
		}
	}
}

// searches returns the results of the command line for the questions: days, and messages by their
// number among all messages. Ids are no use because they also count the entries of summaries, which
// appear at different times.
func (w month) searches(l *e2etest.Ledger, all []e2etest.Fact) []string {
	w.T.Helper()
	said := l.Lines(`SELECT id FROM messages WHERE user_id`+e2etest.OfChat+` AND kind = 'chat' ORDER BY id`,
		fmt.Sprint(e2etest.Ada))
	var out []string
	for _, f := range all {
		var found struct {
			Results []struct {
				Day     string `json:"day_label"`
				Message int64  `json:"message_id"`
			} `json:"results"`
		}
		e2etest.Must(w.T, json.Unmarshal([]byte(w.MustRun("search", "--user", "Ada", "--limit", "10", "--json", f.Question)),
			&found))
		line := f.Question
		for _, r := range found.Results {
			if r.Day == "2026-11-02" { // the day of the questions, which a summary may cover or not
				continue
			}
			line += fmt.Sprintf(" %s/%d", r.Day, slices.Index(said, fmt.Sprint(r.Message)))
		}
		if len(found.Results) < 2 {
			w.T.Errorf("little is found: %s", line)
		}
		out = append(out, line)
	}
	w.Keep(w.T, "month-searches.txt", strings.Join(out, "\n")+"\n")
	return out
}
