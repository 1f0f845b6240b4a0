package chat

import (
	"net/url"
	"strings"
	"testing"

	"github.com/everthread/everthread/adapters/web"
	"github.com/everthread/everthread/adapters/web/webtest"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/internal/fulltest"
)

func TestMarkdown_nothingWrittenRuns(t *testing.T) {
	t.Parallel()
	all := webtest.Payloads()
	if len(all) < 60 {
		t.Fatalf("got only %d", len(all))
	}
	w := newWorld(t, func(o *Options) { o.MediaMax = 20 << 20 })
	p := w.Ana.SignedIn()
	var covers []core.MessageID
	for i, x := range all {
		w.Clock.Pass(1e9)
		q := p.Says(x, func(s *webtest.Said) {
			s.Quote, s.Forward = &core.Quote{Text: x}, web.Short(x, 200)
			s.Files = []core.Attachment{{Kind: "document", Name: web.Short(x, 200), MIME: x, Path: "1/x"},
				{Kind: "photo", Name: web.Short(x, 200), Error: web.Short(x, 200)}}
		})
		if i%4 == 0 {
			covers = append(covers, q, p.Answers(x, core.NewMessage{Role: core.RoleAssistant,
				ToolCalls: []core.ToolCall{{ID: "c", Name: web.Short(x, 60), Arguments: x},
					{ID: "d", Name: "memory_search", Arguments: `{"query":"` + strings.ReplaceAll(web.Short(x, 50), `"`, "") + `"}`}}},
				core.NewMessage{Role: core.RoleTool, ToolCallID: "c", ToolName: web.Short(x, 60), Text: x}))
			p.Deliver(core.DeliveryFailed, web.Short(x, 100))
		}
	}
	p.Sums(strings.Join(all, "\n\n"), false, covers...)
	if _, err := w.Gate.Act(w.Context, p.User.ID, effect.SetName{Name: `"><script>alert(1)</script>`}); err != nil {
		t.Fatal(err)
	}
	p.Get("/").Harmless(t, "a day")
	p.Get("/day/2026-01-31?at=20").Harmless(t, "a day, elsewhere")
	p.Get("/day/2026-01-31/history").Harmless(t, "history")
	for n := 1; n < len(all); n += 7 {
		id := strings.TrimPrefix(webtest.Name(core.MessageID(n)), "m")
		for _, page := range []string{"/why", "/remember", "/forget", "/earlier"} {
			p.Get("/m/"+id+page).Harmless(t, page)
		}
	}
	for n, x := range all {
		if len(x) > 300 || n%fulltest.Size(3, 1) > 0 {
			continue
		}
		q := url.QueryEscape(x)
		p.Get("/search?q="+q+"&day="+q+"&scope="+q).Harmless(t, "search "+x)
		p.Get("/signin?code="+q+"&next="+q).Harmless(t, "sign-in "+x)
		p.Get("/nowhere?"+q).Harmless(t, "an error "+x)
		p.Post("/threads", url.Values{"title": {x}})
	}
	p.Get("/threads").Harmless(t, "threads")
	threads, err := w.Store.Threads(w.Context, p.User.ID, 100)
	w.Must(err)
	for _, th := range threads {
		p.Get(place{thread: th}.path()).Harmless(t, "a thread")
	}
}
