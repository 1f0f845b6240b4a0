package chat

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/everthread/everthread/adapters/web"
	"github.com/everthread/everthread/adapters/web/webtest"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/memory/recall"
	"github.com/everthread/everthread/core/plan"
	"github.com/everthread/everthread/core/search"
)

// finder finds messages and summaries that contain the query, and searches threads for
// real.
type finder struct {
	w *webtest.World
	*recall.Searcher
}

func newFinder(t testing.TB, w *webtest.World) finder {
	t.Helper()
	analyzer, err := recall.NewAnalyzer([]string{"en"})
	if err != nil {
		t.Fatal(err)
	}
	return finder{w, &recall.Searcher{Plain: w.Store, Analyzer: analyzer, Settings: recall.Default()}}
}

func (f finder) Search(ctx context.Context, q search.Query) (search.Result, error) {
	r := search.Result{Mode: "fts"}
	days, err := f.w.Store.Days(ctx, q.User, "", 50)
	for _, g := range days {
		if g.Day.Label < q.From || q.To != "" && g.Day.Label > q.To {
			continue
		}
		all, _ := f.w.Store.Summaries(ctx, q.User, g.ID, 1)
		for _, s := range all {
			if strings.Contains(s.Markdown, q.Query) && q.Kind != core.DocMessage && q.Role == "" && q.Channel == "" {
				r.Hits = append(r.Hits, search.Hit{Kind: core.DocSummary, Segment: g.ID, Label: g.Day.Label, Summary: s,
					Snippet: s.Markdown, Score: 0.78})
			}
		}
		ms, _ := f.w.Store.DayMessages(ctx, q.User, g.ID, 0, 1000)
		for _, m := range ms {
			if strings.Contains(m.Text, q.Query) && q.Kind != core.DocSummary && (q.Role == "" || m.Role == q.Role) &&
				(q.Channel == "" || m.Channel == q.Channel) {
				r.Hits = append(r.Hits, search.Hit{Kind: core.DocMessage, Segment: g.ID, Label: g.Day.Label, Message: m,
					Snippet: m.Text, Score: 0.62})
				if q.Matching {
					r.Hits[len(r.Hits)-1].After = search.Beside{Message: m.ID + 1, Role: core.RoleAssistant,
						Snippet: "What stands\nbeside it"}
				}
			}
		}
	}
	return r, err
}

func (finder) Marks(text, query string) [][2]int {
	var out [][2]int
	for from := 0; query != ""; {
		i := strings.Index(text[from:], query)
		if i < 0 {
			break
		}
		out = append(out, [2]int{from + i, from + i + len(query)})
		from += i + len(query)
	}
	return out
}

// newWorld returns the page with the room. Options may be changed before it is created.
func newWorld(t testing.TB, change ...func(o *Options)) *webtest.World {
	t.Helper()
	return webtest.New(t, func(w *webtest.World) []web.Room {
		o := Options{Store: w.Store, People: w.People, Hub: w.Hub, Gateway: w.Gate, Keeper: w.Gate, Search: newFinder(t, w),
			Memory: w.Memory, Plans: &plan.Plans{Store: w.Store, Settings: plan.Settings{MaxTasks: 9, Language: "en"}},
			Rebuilder: rebuilder(func() ([]core.ModelMessage, error) { return nil, errors.New("not here") }),
			Groups:    w.Groups,
			MediaDir:  w.Media, MediaMax: 1 << 20, Now: w.Clock.Now}
		for _, f := range change {
			f(&o)
		}
		return []web.Room{New(o)}
	})
}
