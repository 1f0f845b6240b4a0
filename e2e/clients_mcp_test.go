//go:build e2e

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// newLibrary is a town whose owner has said something that other assistants ask for.
func newLibrary(t *testing.T, database string) (*town, *gateway, string) {
	t.Helper()
	w := newTown(t, database)
	g := w.start()
	w.addOwner(g)
	w.telegram.Say(ada, "We leave the harbour of Groix at six.")
	w.sent(ada, 2)
	w.ledger().until(`SELECT COUNT(*) FROM users WHERE id > 0 AND indexed < last_message`, 0, g)
	key, _ := w.apiKey("", "read,memory")
	return w, g, key
}

// mcpSees is what peers/mcp.mjs prints.
type mcpSees struct {
	Server                                                 string
	Tools, Days                                            []string
	Added, Remembered, Found, Got, Wrong, Nothing, Unknown mcpResult
	Day                                                    string
}

type mcpResult struct {
	Failed bool
	Text   string
}

// The official MCP client, over HTTP and to the program itself, shares recall and
// memory with the person's own assistant.
func TestTheClientOfMCPSharesRecall(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		w, g, key := newLibrary(t, database(t))
		var http, stdio mcpSees
		node(t, nil, &http, "peers/mcp.mjs", "http", g.URL, key)
		w.sharesRecall(http, "http")
		node(t, w.env, &stdio, "peers/mcp.mjs", "stdio", program, "mcp")
		w.sharesRecall(stdio, "stdio")
		if n := w.ledger().count(`SELECT COUNT(*) FROM items WHERE content LIKE 'The boat is called Kestrel%'`); n != 2 {
			t.Errorf("%d items are stored", n)
		}
	})
}

// sharesRecall checks what an MCP client saw of a library.
func (w *town) sharesRecall(s mcpSees, how string) {
	w.t.Helper()
	b, err := json.MarshalIndent(s, "", "  ")
	must(w.t, err)
	w.artefact("mcp-"+how+".json", b)
	if diff := cmp.Diff(sharedTools, s.Tools); diff != "" || s.Server != "everthread" || len(s.Days) != 1 {
		w.t.Errorf("%s: server %q, days %q, tools (-want +got):\n%s", how, s.Server, s.Days, diff)
	}
	for what, pair := range map[string][2]string{
		"added":      {s.Added.Text, `"status":"added","theme":"boat"`},
		"remembered": {s.Remembered.Text, "The boat is called Kestrel (" + how + ")."},
		"found":      {s.Found.Text, `"snippet":"We leave the harbour of Groix at six."`},
		"got":        {s.Got.Text, `"content":"We leave the harbour of Groix at six."`},
		"came from":  {s.Got.Text, `"channel":"telegram"`},
		"wrong":      {s.Wrong.Text, "there is no message #987654"},
		"day":        {s.Day, "We leave the harbour of Groix at six."},
		"nothing":    {s.Nothing.Text, "Resource not found"},
		"unknown":    {s.Unknown.Text, "unknown tool"},
	} {
		if !strings.Contains(pair[0], pair[1]) {
			w.t.Errorf("%s: %s is %s, want %s in it", how, what, pair[0], pair[1])
		}
	}
	if s.Added.Failed || s.Found.Failed || !s.Wrong.Failed {
		w.t.Errorf("%s: failed are %t %t %t", how, s.Added.Failed, s.Found.Failed, s.Wrong.Failed)
	}
}

var sharedTools = []string{"conversation_get", "conversation_search", "memory_add", "memory_archive", "memory_get", "memory_list_themes", "memory_search"}

// inspect runs the MCP inspector, which ends non-zero if the server is at fault.
func inspect(t *testing.T, into any, args ...string) {
	t.Helper()
	node(t, nil, into, append([]string{filepath.Join(filepath.Dir(os.Getenv("EVERTHREAD_TEST_AIMOCK")), "mcp-inspector"), "--cli"}, args...)...)
}

// The MCP inspector, as docs/interfaces.md says, over HTTP and to the program.
func TestTheInspectorOfMCPIsContent(t *testing.T) {
	t.Parallel()
	w, g, key := newLibrary(t, "")
	itself := []string{program, "mcp"}
	for _, e := range w.env {
		if !strings.HasSuffix(e, "=") { // which the inspector takes for a mistake
			itself = append(itself, "-e", e)
		}
	}
	for how, reach := range map[string][]string{"http": {g.URL + "/mcp", "--transport", "http", "--header", "Authorization: Bearer " + key}, "stdio": itself} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			var tools struct {
				Tools []struct {
					Name        string
					InputSchema struct{ Type string }
				}
			}
			inspect(t, &tools, append(slices.Clone(reach), "--method", "tools/list")...)
			if len(tools.Tools) != len(sharedTools) || tools.Tools[0].InputSchema.Type != "object" {
				t.Errorf("tools are %+v", tools)
			}
			var found struct{ Content []struct{ Text string } }
			inspect(t, &found, append(slices.Clone(reach), "--method", "tools/call", "--tool-name", "conversation_search", "--tool-arg", "query=harbour")...)
			if len(found.Content) != 1 || !strings.Contains(found.Content[0].Text, "Groix") {
				t.Errorf("found %+v", found)
			}
			var days struct{ Resources []struct{ URI string } }
			inspect(t, &days, append(slices.Clone(reach), "--method", "resources/list")...)
			if len(days.Resources) != 1 {
				t.Fatalf("days are %+v", days)
			}
			var read struct{ Contents []struct{ Text string } }
			inspect(t, &read, append(slices.Clone(reach), "--method", "resources/read", "--uri", days.Resources[0].URI)...)
			if len(read.Contents) != 1 || !strings.Contains(read.Contents[0].Text, "Groix") {
				t.Errorf("the day is %+v", read)
			}
		})
	}
}
