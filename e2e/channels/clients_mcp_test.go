//go:build e2e

package channels

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/everthread/everthread/e2e/e2etest"
)

// newLibrary returns a gateway whose owner has written things that other assistants look up.
func newLibrary(t *testing.T, database string) (*e2etest.Town, *e2etest.Gateway, string) {
	t.Helper()
	w := e2etest.NewTown(t, database)
	g := w.Start()
	w.AddOwner(g)
	w.Telegram.Say(e2etest.Ada, "We leave the harbour of Groix at six.")
	w.Sent(e2etest.Ada, 2)
	w.Ledger().Until(`SELECT COUNT(*) FROM users WHERE id > 0 AND indexed < last_message`, 0, g)
	key, _ := w.APIKey("", "read,memory")
	return w, g, key
}

// The official MCP client, over HTTP and to the program itself, shares recall and
// memory with the person's own assistant.
func TestMCP_clientSharesRecall(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w, g, key := newLibrary(t, database(t))
		var http, stdio e2etest.McpSees
		node(t, nil, &http, "../peers/mcp.mjs", "http", g.URL, key)
		w.SharesRecall(http, "http")
		node(t, w.Env, &stdio, "../peers/mcp.mjs", "stdio", e2etest.Program, "mcp")
		w.SharesRecall(stdio, "stdio")
		if n := w.Ledger().Count(`SELECT COUNT(*) FROM items WHERE content LIKE 'The boat is called Kestrel%'`); n != 2 {
			t.Errorf("%d items are stored", n)
		}
	})
}

// A line on standard input that is not JSON does not end the connection.
func TestMCP_lineWithoutJSONEndsNoConnection(t *testing.T) {
	t.Parallel()
	w := e2etest.NewTown(t, "")
	w.AddOwner(w.Start())
	cmd := exec.Command(e2etest.Program, "mcp")
	cmd.Dir, cmd.Env = w.Dir, append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.Dir}, w.Env...)
	cmd.Stdin = strings.NewReader("what is this?\n\n" + `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":` +
		`"2025-06-18","capabilities":{},"clientInfo":{"name":"a test","version":"1"}}}` + "\n")
	out, err := cmd.Output()
	e2etest.Must(t, err)
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], `"code":-32700`) || !strings.Contains(lines[0], `"id":null`) ||
		!strings.Contains(lines[1], `"serverInfo"`) {
		t.Errorf("got %s", out)
	}
}

// inspect runs the MCP inspector, which ends non-zero if the server is faulty.
func inspect(t *testing.T, into any, args ...string) {
	t.Helper()
	node(t, nil, into, append([]string{filepath.Join(filepath.Dir(os.Getenv("EVERTHREAD_TEST_AIMOCK")), "mcp-inspector"),
		"--cli"}, args...)...)
}

// The MCP inspector, as docs/interfaces.md says, over HTTP and to the program.
func TestMCP_inspectorIsContent(t *testing.T) {
	t.Parallel()
	w, g, key := newLibrary(t, "")
	itself := []string{e2etest.Program, "mcp"}
	for _, e := range w.Env {
		if !strings.HasSuffix(e, "=") { // the inspector refuses empty values
			itself = append(itself, "-e", e)
		}
	}
	for how, reach := range map[string][]string{"http": {g.URL + "/mcp", "--transport", "http", "--header",
		"Authorization: Bearer " + key}, "stdio": itself} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			var tools struct {
				Tools []struct {
					Name        string
					InputSchema struct{ Type string }
				}
			}
			inspect(t, &tools, append(slices.Clone(reach), "--method", "tools/list")...)
			if len(tools.Tools) != len(e2etest.SharedTools) || tools.Tools[0].InputSchema.Type != "object" {
				t.Errorf("tools are %+v", tools)
			}
			var found struct{ Content []struct{ Text string } }
			inspect(t, &found, append(slices.Clone(reach), "--method", "tools/call", "--tool-name", "conversation_search",
				"--tool-arg", "query=harbour")...)
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
