package web

import (
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/everthread/everthread/core"
)

// payloads are attempts to run something on a page. One that spans lines begins
// with a link or a table.
func payloads(t *testing.T) []string {
	t.Helper()
	b, err := os.ReadFile("testdata/xss.txt")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	return append(lines, string(b), "[x][y]\n\n[y]: javascript:alert(1)", strings.Join(lines[len(lines)-3:], "\n"))
}

// harmless checks that nothing of a page runs but what is ours.
func (a answer) harmless(t *testing.T, what string) {
	t.Helper()
	if bad := dangers(t, a.body); bad != nil {
		t.Errorf("%s: %v", what, bad)
	}
	for _, script := range strings.Split(a.body, "<script")[1:] {
		if !strings.HasPrefix(script, ` src="/static/`) {
			t.Errorf("%s: a script of somebody else's: %s", what, short(script, 100))
		}
	}
	for _, tag := range []string{"<link ", "<meta "} {
		for _, rest := range strings.Split(a.body, tag)[1:] {
			if !strings.HasPrefix(rest, "rel=\"icon\" href=\"/static/") &&
				!strings.HasPrefix(rest, "rel=\"stylesheet\" href=\"/static/") && !strings.HasPrefix(rest, "charset") &&
				!strings.HasPrefix(rest, "name=\"viewport\"") && !strings.HasPrefix(rest, "name=\"color-scheme\"") {
				t.Errorf("%s: %s%s", what, tag, short(rest, 100))
			}
		}
	}
}

func TestNothingThatSomebodyWroteRuns(t *testing.T) {
	t.Parallel()
	all := payloads(t)
	if len(all) < 60 {
		t.Fatalf("there are only %d", len(all))
	}
	w := newWorld(t, func(o *Options) { o.MediaMax = 20 << 20 })
	p := w.ana.signedIn()
	var covers []core.MessageID
	for i, x := range all {
		w.clock.pass(1e9)
		q := p.says(x, func(s *said) {
			s.quote, s.forward = &core.Quote{Text: x}, short(x, 200)
			s.files = []core.Attachment{{Kind: "document", Name: short(x, 200), MIME: x, Path: "1/x"},
				{Kind: "photo", Name: short(x, 200), Error: short(x, 200)}}
		})
		if i%4 == 0 {
			covers = append(covers, q, p.answers(x, core.NewMessage{Role: core.RoleAssistant,
				ToolCalls: []core.ToolCall{{ID: "c", Name: short(x, 60), Arguments: x},
					{ID: "d", Name: "memory_search", Arguments: `{"query":"` + strings.ReplaceAll(short(x, 50), `"`, "") + `"}`}}},
				core.NewMessage{Role: core.RoleTool, ToolCallID: "c", ToolName: short(x, 60), Text: x}))
			p.deliver(core.DeliveryFailed, short(x, 100))
		}
	}
	p.sums(strings.Join(all, "\n\n"), false, covers...)
	if _, err := w.gate.Act(w.ctx, p.user.ID, core.SetName{Name: `"><script>alert(1)</script>`}); err != nil {
		t.Fatal(err)
	}
	p.get("/").harmless(t, "a day")
	p.get("/day/2026-01-31?at=20").harmless(t, "a day, elsewhere")
	p.get("/day/2026-01-31/history").harmless(t, "history")
	for n := 1; n < len(all); n += 7 {
		id := strings.TrimPrefix(name(core.MessageID(n)), "m")
		for _, page := range []string{"/why", "/remember", "/forget", "/earlier"} {
			p.get("/m/"+id+page).harmless(t, page)
		}
	}
	for _, x := range all {
		if len(x) > 300 {
			continue
		}
		q := url.QueryEscape(x)
		p.get("/search?q="+q+"&day="+q+"&scope="+q).harmless(t, "search "+x)
		p.get("/signin?code="+q+"&next="+q).harmless(t, "sign-in "+x)
		p.get("/nowhere?"+q).harmless(t, "an error "+x)
		p.post("/threads", url.Values{"title": {x}})
	}
	p.get("/threads").harmless(t, "threads")
	threads, err := w.store.Threads(w.ctx, p.user.ID, 100)
	w.must(err)
	for _, th := range threads {
		p.get(place{thread: th}.path()).harmless(t, "a thread")
	}
}
