package summary_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

const dentist = "## Today\n- **09:00** “Dentist”"

// posts returns what was posted, with the marks of foreign words.
func (n *night) posts() (texts []string, foreign []bool) {
	n.t.Helper()
	ms, _, err := n.store.Timeline(n.t.Context(), store.TimelineQuery{User: n.user.ID, Limit: 100})
	must(n.t, err)
	for _, m := range ms {
		if m.Kind == core.KindDayPost {
			texts, foreign = append(texts, m.Text), append(foreign, m.Tainted)
		}
	}
	return texts, foreign
}

func TestPost_endsWithTheDayAhead(t *testing.T) {
	t.Parallel()
	n := newNight(t)
	n.exchange("a", "b")
	n.model.Script(answer("## Summary\nTea. [#1]\n\n## Next steps\n- Rest [#1]"))
	n.until(20, 4)
	n.ahead = ahead{users: []core.User{n.user}, said: dentist}
	n.until(20, 7)
	if got, _ := n.posts(); len(got) > 0 || n.ahead.asked > 0 {
		t.Errorf("before its time: %q, asked %d times", got, n.ahead.asked)
	}
	n.until(20, 12)
	got, foreign := n.posts()
	if len(got) != 1 || !strings.Contains(got[0], "Tea.") || !strings.HasSuffix(got[0], "\n\n"+dentist) || !foreign[0] {
		t.Errorf("posted %q, foreign %v", got, foreign)
	}
	if n.ahead.asked != 1 {
		t.Errorf("asked %d times", n.ahead.asked)
	}
	n.until(21, 12) // nothing was said
	if got, _ = n.posts(); len(got) != 2 || got[1] != dentist {
		t.Errorf("after a day without a word: %q", got)
	}
	if sent := n.sent(core.DeliverPost); len(sent) != 2 || !strings.Contains(sent[1], "Dentist") {
		t.Errorf("sent %q", sent)
	}
}

func TestPost_ofTheDayAheadDoesNotWaitForASummaryThatFails(t *testing.T) {
	t.Parallel()
	n := newNight(t)
	n.exchange("a", "b")
	n.fails(core.ModelDown)
	n.until(20, 4)
	n.ahead = ahead{users: []core.User{n.user}, said: dentist}
	n.until(20, 9)
	if got, _ := n.posts(); !slices.Equal(got, []string{dentist}) {
		t.Fatalf("got %q", got)
	}
	n.model.Script(answer("## Summary\nTea. [#1]\n\n## Next steps\n- Rest [#1]"))
	n.until(20, 23)
	if got, foreign := n.posts(); len(got) != 2 || strings.Contains(got[1], "Dentist") || !strings.Contains(got[1], "Tea.") || foreign[1] {
		t.Errorf("then %q, foreign %v", got, foreign)
	}
}

func TestPost_keepsToWhatThePersonChose(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(n *night){
		"off":     func(n *night) { n.user.Settings.Summaries = "off" },
		"paused":  func(n *night) { n.user.Settings.Paused = true },
		"nobody":  func(*night) {},
		"nothing": func(n *night) { n.ahead.said = "" },
	} {
		n := newNight(t)
		n.now = n.now.Add(12 * time.Hour)
		n.ahead = ahead{said: dentist}
		change(n)
		if name != "nobody" {
			n.ahead.users = []core.User{n.user}
		}
		n.until(20, 23)
		if got, _ := n.posts(); len(got) > 0 || n.ahead.asked > 2 {
			t.Errorf("%s: posted %q, asked %d times", name, got, n.ahead.asked)
		}
	}
}

func TestPost_isOnceForSeveralProcesses(t *testing.T) {
	t.Parallel()
	n := newNight(t)
	n.ahead = ahead{users: []core.User{n.user}, said: dentist}
	n.now = time.Date(2026, 11, 20, 8, 30, 0, 0, time.UTC)
	other := *n.sum
	other.Ahead = &ahead{users: []core.User{n.user}, said: dentist}
	done := make(chan error)
	go func() { done <- other.Post(t.Context()) }()
	must(t, n.sum.Post(t.Context()))
	must(t, <-done)
	must(t, other.Post(t.Context()))
	if got, _ := n.posts(); len(got) != 1 {
		t.Errorf("got %q", got)
	}
}
