//go:build e2e

package e2e

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// shops configures an MCP server that is a program, one that is an address and
// one that does not start, and returns the file in which calls are noted.
func (w *town) shops(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "calls")
	server := newMCP(path)
	remote := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil))
	t.Cleanup(func() {
		remote.CloseClientConnections()
		for s := range server.Sessions() {
			_ = s.Close()
		}
		remote.Close()
	})
	self, err := os.Executable()
	must(t, err)
	list, err := json.Marshal([]map[string]any{
		{"name": "shop", "command": self, "env": map[string]string{mcpLedger: path}, "roles": w.roles(), "trust_hints": true, "allow": w.allowed},
		{"name": "remote", "url": remote.URL, "roles": w.roles(), "trust_hints": true},
		{"name": "dead", "command": "/bin/false"},
	})
	must(t, err)
	w.env = append(w.env, "EVERTHREAD_AGENT_MCP_SERVERS="+string(list), "EVERTHREAD_AGENT_TOOL_TIMEOUT=2s", "EVERTHREAD_TURN_LEASE=3s")
	return path
}

// roles are those whose the shops are: everybody's, unless a test says else.
func (w *town) roles() []string {
	if w.shopsOf != nil {
		return w.shopsOf
	}
	return []string{"owner", "member"}
}

// calls are the calls that were noted.
func calls(t *testing.T, path string) []string {
	t.Helper()
	b, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil
	}
	must(t, err)
	return strings.Fields(string(b))
}

// up waits until the shops can be called.
func (g *gateway) up() {
	g.t.Helper()
	g.logged(`MCP server is up.*"shop"`)
	g.logged(`MCP server is up.*"remote"`)
}

func TestToolsOfOutsideServersAreCalled(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := newClock(t, database(t))
		path := w.shops(t)
		g := w.start()
		g.up()
		for text, want := range map[string]string{
			`call shop_stock {"item":"screws"}`:  "tool said: 42 boxes of screws",
			`call remote_stock {"item":"nails"}`: "tool said: 42 boxes of nails",
		} {
			if got := w.ask(text).Text; got != want {
				t.Errorf("%s: got %q", text, got)
			}
		}
		if got := calls(t, path); len(got) != 2 {
			t.Errorf("called %q", got)
		}
		if got := w.ask("call dead_stock {}").Text; !strings.Contains(got, "Error: there is no tool") {
			t.Errorf("got %q", got)
		}
	})
}

// A server that is trouble costs one error that says what is wrong; the turn goes
// on, and so does the next one.
func TestAnOutsideServerInTroubleCostsOneError(t *testing.T) {
	t.Parallel()
	w := newClock(t, "")
	w.shops(t)
	g := w.start()
	g.up()
	for _, server := range []string{"shop", "remote"} {
		begin := time.Now()
		got := w.ask("call " + server + `_hang {"item":"x"}`).Text
		if !strings.HasPrefix(got, "tool said: Error: the tool did not answer within 2s") || time.Since(begin) > 10*time.Second {
			t.Errorf("%s hangs: after %s got %q", server, time.Since(begin), got)
		}
	}
	if got := w.ask(`call shop_die {"item":"x"}`).Text; !strings.HasPrefix(got, "tool said: Error: ") || !strings.Contains(got, "status 7") {
		t.Errorf("the server dies: got %q", got)
	}
	if got := w.ask(`call remote_stock {"item":"nails"}`).Text; got != "tool said: 42 boxes of nails" {
		t.Errorf("the other server: got %q", got)
	}
	g.logged("MCP server is up again")
	if got := w.ask(`call shop_stock {"item":"screws"}`).Text; got != "tool said: 42 boxes of screws" {
		t.Errorf("after it was started again: got %q", got)
	}
	if got := w.ask(`call shop_flood {"item":"x"}`).Text; !strings.HasPrefix(got, "tool said: Error: ") || len(got) > 2000 {
		t.Errorf("the server floods: got %d bytes, %.300q", len(got), got)
	}
	if got := w.ask("hello").Text; got != "echo: hello" {
		t.Errorf("got %q", got)
	}
}

// Whatever an outside tool did is not done again when the process dies before the
// answer is stored.
func TestAnOutsideCallIsNotMadeAgainAfterAPowerCut(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := newClock(t, database(t))
		path := w.shops(t)
		g := w.start("EVERTHREAD_CRASH_AT=model")
		g.up()
		w.write(`call remote_stock {"item":"hinges"}`)
		if !g.wait(20 * time.Second) {
			t.Fatalf("it did not crash\n%s", g.log)
		}
		if got := calls(t, path); len(got) != 1 {
			t.Fatalf("called %q before the power cut", got)
		}
		g = w.start()
		if got := w.receive().Text; got != "tool said: 42 boxes of hinges" {
			t.Errorf("got %q\n%s", got, g.log)
		}
		w.settle(w.ledger(), g)
		if got := calls(t, path); len(got) != 1 {
			t.Errorf("called %q", got)
		}
	})
}
