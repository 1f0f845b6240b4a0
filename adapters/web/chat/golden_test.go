package chat

import (
	"flag"
	"net/url"
	"testing"

	"github.com/everthread/everthread/adapters/web/webtest"
	"github.com/everthread/everthread/core"
)

var again = flag.Bool("update", false, "write the golden files again")

// TestPages_golden compares pages with those in testdata.
func TestPages_golden(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.Ana.SignedIn()
	p.At(29, 18, 10)
	q, a := p.Talks("Which flight was it?", "**TP 439**, on 12 February.")
	p.At(30, 3, 0)
	p.SumsOf("2026-01-29", "## Summary\nThe flight is known.\n\n## Decisions\n- TP 439 on 12 February [#2]", true, q, a)
	p.At(31, 9, 5)
	p.Talks("On avance sur les segments journaliers.", "Ok, voici les options...")
	p.Deliver(core.DeliverySent, "")
	p.Says("Et pour conversation.search ?", func(s *webtest.Said) {
		s.Quote = &core.Quote{Text: "Ok, voici les options...",
			Mine: true}
	})
	p.Answers("V1: summaries + transcript FTS + embeddings.", core.NewMessage{Role: core.RoleAssistant,
		ToolCalls: []core.ToolCall{{ID: "c", Name: "conversation_search", Arguments: `{"query":"search"}`}}},
		core.NewMessage{Role: core.RoleTool, ToolCallID: "c", ToolName: "conversation_search", Text: `{"results":[]}`})
	recipes := p.Post("/threads", url.Values{"title": {"Recipes"}}).Header.Get("Location")
	for name, path := range map[string]string{"today": "/", "past": "/day/2026-01-29", "empty": "/day/2026-01-30",
		"why": "/m/5/why", "search": "/search?q=flight&scope=all", "threads": "/threads", "thread-edit": recipes + "/edit",
		"forget": "/m/1/forget", "error": "/nowhere", "signin": "/signin?code=ABC"} {
		webtest.Golden(t, *again, name, p.Get(path).Body)
	}
	webtest.Golden(t, *again, "signedout", w.Bob.Get("/").Body)
}
