package web

import (
	"flag"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/everthread/everthread/core"
)

var again = flag.Bool("update", false, "write the golden files again")

// TestPagesAreAsTheyWere compares pages with those in testdata.
func TestPagesAreAsTheyWere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.ana.signedIn()
	p.at(29, 18, 10)
	q, a := p.talks("Which flight was it?", "**TP 439**, on 12 February.")
	p.at(30, 3, 0)
	p.sumsOf("2026-01-29", "## Summary\nThe flight is known.\n\n## Decisions\n- TP 439 on 12 February [#2]", true, q, a)
	p.at(31, 9, 5)
	p.talks("On avance sur les segments journaliers.", "Ok, voici les options...")
	p.deliver(core.DeliverySent, "")
	p.says("Et pour conversation.search ?", func(s *said) {
		s.quote = &core.Quote{Text: "Ok, voici les options...",
			Mine: true}
	})
	p.answers("V1: summaries + transcript FTS + embeddings.", core.NewMessage{Role: core.RoleAssistant,
		ToolCalls: []core.ToolCall{{ID: "c", Name: "conversation_search", Arguments: `{"query":"search"}`}}},
		core.NewMessage{Role: core.RoleTool, ToolCallID: "c", ToolName: "conversation_search", Text: `{"results":[]}`})
	p.post("/threads", url.Values{"title": {"Recipes"}})
	for name, path := range map[string]string{"today": "/", "past": "/day/2026-01-29", "empty": "/day/2026-01-30",
		"why": "/m/5/why", "search": "/search?q=flight&scope=all", "threads": "/threads", "forget": "/m/1/forget",
		"error": "/nowhere", "signin": "/signin?code=ABC"} {
		golden(t, name, p.get(path).body)
	}
	golden(t, "signedout", w.bob.get("/").body)
}

// golden compares the main part of a page with its file; what differs each time is
// left out.
func golden(t *testing.T, name, body string) {
	t.Helper()
	for pattern, with := range map[string]string{`name="nonce" value="[^"]*"`: `name="nonce" value="NONCE"`,
		`/static/(\w+)\.[0-9a-f]+\.`: `/static/$1.HASH.`, `data-v="[^"]*"`: `data-v="V"`,
		`data-last="[^"]*"`: `data-last="LAST"`, `data-turn="t\d+"`: `data-turn="TURN"`, `/threads/\d+`: `/threads/N`} {
		body = regexp.MustCompile(pattern).ReplaceAllString(body, with)
	}
	_, body, _ = strings.Cut(body, `<main id="main" tabindex="-1">`)
	body, _, _ = strings.Cut(body, "</main>")
	file := "testdata/" + name + ".html"
	if *again {
		if err := os.WriteFile(file, []byte(body), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), body); diff != "" {
		t.Errorf("%s differs (-want +got); -update writes it again:\n%s", name, diff)
	}
}
