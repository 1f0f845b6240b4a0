package summary_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/store/sqlite"
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

// posted notes what a store is told of posts.
type posted struct {
	*sqlite.Store
	all []store.PutPost
}

func (p *posted) PutPost(ctx context.Context, in store.PutPost) error {
	p.all = append(p.all, in)
	return p.Store.PutPost(ctx, in)
}

// reach is where proactive messages go.
type reach []core.Target

func (r reach) Plan(context.Context, core.User, bool) ([]core.Target, error) { return r, nil }

// TestPost_ringsWhereNoAppReceives checks that devices are notified of a summary, and of a missing one, exactly if no app
// receives it now.
func TestPost_ringsWhereNoAppReceives(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		held, none, down, rings bool
	}{
		"an app":                                 {},
		"an app that is away":                    {held: true, rings: true},
		"the page alone":                         {none: true, rings: true},
		"an app, and no summary in time":         {down: true},
		"the page alone, and no summary in time": {none: true, down: true, rings: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNight(t)
			kept := &posted{Store: n.store}
			n.sum.Store, n.sum.Planner = kept, reach{{Identity: n.at, Why: "home", Held: c.held}}
			if c.none {
				n.sum.Planner = reach{}
			}
			n.exchange("a", "b")
			n.model.Script(answer("## Summary\nTea. [#1]"))
			if c.down {
				n.fails(core.ModelDown)
			}
			for n.now = time.Date(2026, 11, 20, 3, 0, 0, 0, time.UTC); n.now.Before(time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)); n.now = n.now.Add(20 * time.Minute) {
				n.tick()
			}
			told := slices.DeleteFunc(kept.all, func(p store.PutPost) bool { return p.Message.Text == "" })
			want := core.PostDone
			if c.down {
				want = core.PostMissed
			}
			if len(told) != 1 || told[0].State != want || told[0].Message.Rings != c.rings {
				t.Errorf("posted %+v", told)
			}
		})
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
