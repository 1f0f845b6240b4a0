//go:build e2e

package e2e

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
)

const bob = int64(444555666)

// A month in two languages, then questions on Telegram and in the terminal whose
// answers lie weeks back: they rest on the right message, both stores find the
// same in the same order, and nobody finds what another person said.
func TestWhatWasSaidWeeksAgoIsFound(t *testing.T) {
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
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := newMonth(t, database(t))
		g := w.start("EVERTHREAD_SUMMARIES_POST_FORWARD=off", "EVERTHREAD_SUMMARIES_AFTER_MESSAGES=100000")
		w.live()
		l := w.ledger()
		w.digest(l, g)
		all := facts()
		for _, f := range all[:8] {
			w.right(l, f, w.ask(f.question).Text)
		}
		out := w.terminal(questions(all[8:]))
		for _, f := range all[8:] {
			w.right(l, f, out)
		}
		n := len(w.telegram.Sent(bob))
		w.say(bob, all[0].question)
		answer := w.town.sent(bob, n+1)
		if got := answer[len(answer)-1].Text; !strings.Contains(got, all[0].other) || strings.Contains(got, "sage green") {
			t.Errorf("Bob is told %q", got)
		}
		w.onlyOwn(l)
		mu.Lock()
		defer mu.Unlock()
		found[filepath.Base(t.Name())] = w.searches(l, all)
	})
}

// month is a town of two people who write in it for a month.
type month struct{ *week }

func newMonth(t *testing.T, database string) month {
	t.Helper()
	script := map[string]string{}
	for _, f := range facts() {
		if f.answered != "" {
			script[f.said] = f.answered
		}
	}
	w := newClock(t, database)
	w.useModel(startModel(t, 0, "EVERTHREAD_TEST_RECALL=1", "EVERTHREAD_TEST_SCRIPT="+writeJSON(t, script)))
	return month{w}
}

// live has the month said: in sittings, each answered as a whole.
func (w month) live() {
	ours, theirs := newChatter(1), newChatter(2)
	for n := 1; n <= daysOfMonth; n++ {
		w.set(time.Date(2026, 10, n, 9, 0, 0, 0, time.UTC))
		for i, texts := range ours.day(n, func(f fact) string { return f.said }) {
			w.set(time.Date(2026, 10, n, 9+3*i, 0, 0, 0, time.UTC))
			w.sitting(ada, texts)
		}
		var texts []string
		for _, f := range facts() {
			if f.day == n {
				texts = append(texts, f.other)
			}
		}
		for len(texts) < perOther {
			texts = append(texts, theirs.next())
		}
		w.sitting(bob, texts)
	}
}

// sitting has somebody write several messages that are answered at once: they
// pause the assistant meanwhile, so that there is one answer on any machine.
func (w month) sitting(chat int64, texts []string) {
	w.t.Helper()
	n := len(w.telegram.Sent(chat))
	w.say(chat, "/pause")
	w.town.sent(chat, n+1)
	for _, text := range texts {
		w.say(chat, text)
	}
	must(w.t, w.telegram.Wait(w.t.Context(), func() bool { return w.telegram.Pending() == 0 }))
	w.say(chat, "/pause")
	w.town.sent(chat, n+3)
	w.week.sent = len(w.telegram.Sent(ada))
}

// say has the person of a chat write by the test's clock.
func (w month) say(chat int64, text string) {
	w.next++
	m := written(chat, w.next, text)
	m["date"] = w.now().Unix()
	if chat == bob {
		m["from"] = map[string]any{"id": bob, "is_bot": false, "first_name": "Bob", "language_code": "en"}
	}
	w.telegram.Offer(map[string]any{"message": m})
}

// digest moves on by some days, until all days are over and indexed.
func (w month) digest(l *ledger, g *gateway) {
	w.t.Helper()
	w.set(time.Date(2026, 11, 2, 10, 0, 0, 0, time.UTC))
	l.until(`SELECT (SELECT COUNT(*) FROM segments WHERE state = 'open' OR version = 0) + (SELECT COUNT(*) FROM users WHERE id > 0 AND indexed < last_message)
		+ (SELECT COUNT(*) FROM jobs WHERE queue = 'summarize' AND state IN ('ready', 'running', 'waiting'))`, 0, g)
	if n := l.count(`SELECT COUNT(*) FROM messages WHERE user_id`+ofChat+` AND kind = 'chat' AND role = 'user'`, fmt.Sprint(ada)); n != daysOfMonth*perDay {
		w.t.Fatalf("Ada wrote %d messages, %d are stored", daysOfMonth*perDay, n)
	}
}

// right checks that an answer rests on the message of a fact.
func (w month) right(l *ledger, f fact, answer string) {
	w.t.Helper()
	ids := l.lines(`SELECT id FROM messages WHERE user_id`+ofChat+` AND body = $2`, fmt.Sprint(ada), f.evidence())
	if len(ids) != 1 {
		w.t.Fatalf("%q is stored as %v", f.evidence(), ids)
	}
	if want := fmt.Sprintf("On 2026-10-%02d (#%s): %s", f.day, ids[0], f.evidence()); !strings.Contains(answer, want) {
		w.t.Errorf("%s\ngot  %s\nwant %s", f.question, answer, want)
	}
}

// terminal has Ada ask in a terminal beside the running server, and returns
// what is shown.
func (w month) terminal(lines []string) string {
	w.t.Helper()
	cmd := exec.CommandContext(w.t.Context(), program, "chat", "--user", "Ada")
	cmd.Dir, cmd.Env = w.dir, append([]string{"HOME=" + w.dir}, w.env...)
	cmd.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Fatalf("chat: %v\n%s", err, out)
	}
	return string(out)
}

func questions(all []fact) []string {
	var out []string
	for _, f := range all {
		out = append(out, f.question)
	}
	return out
}

// onlyOwn checks that no result of a tool holds what the other person said.
func (w month) onlyOwn(l *ledger) {
	w.t.Helper()
	for chat, not := range map[int64]func(fact) string{ada: func(f fact) string { return f.other }, bob: fact.evidence} {
		results := l.lines(`SELECT body FROM messages WHERE user_id`+ofChat+` AND role = 'tool'`, fmt.Sprint(chat))
		if len(results) < 2 {
			w.t.Fatalf("chat %d has %d results of tools", chat, len(results))
		}
		for _, f := range facts() {
			if n := slices.IndexFunc(results, func(s string) bool { return strings.Contains(s, not(f)) }); n >= 0 {
				w.t.Errorf("chat %d was shown what another person said: %s", chat, results[n])
			}
		}
	}
}

// searches are what the command line finds for the questions: days, and the
// messages by their number among all that were said. Their ids also count the
// entries of summaries, which come when they come.
func (w month) searches(l *ledger, all []fact) []string {
	w.t.Helper()
	said := l.lines(`SELECT id FROM messages WHERE user_id`+ofChat+` AND kind = 'chat' ORDER BY id`, fmt.Sprint(ada))
	var out []string
	for _, f := range all {
		var found struct {
			Results []struct {
				Day     string `json:"day_label"`
				Message int64  `json:"message_id"`
			} `json:"results"`
		}
		must(w.t, json.Unmarshal([]byte(w.mustRun("search", "--user", "Ada", "--limit", "10", "--json", f.question)), &found))
		line := f.question
		for _, r := range found.Results {
			if r.Day == "2026-11-02" { // the questions' own, which a summary may cover by now or not
				continue
			}
			line += fmt.Sprintf(" %s/%d", r.Day, slices.Index(said, fmt.Sprint(r.Message)))
		}
		if len(found.Results) < 2 {
			w.t.Errorf("little is found: %s", line)
		}
		out = append(out, line)
	}
	w.keep(w.t, "month-searches.txt", strings.Join(out, "\n")+"\n")
	return out
}
