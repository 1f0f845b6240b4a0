//go:build e2e

package e2etest

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Shops configures one MCP server that is a program, one with a URL and one that does not
// start, and returns the file in which calls are recorded.
func (w *Town) Shops(t *testing.T) string {
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
	Must(t, err)
	list, err := json.Marshal(append([]map[string]any{
		{"name": "shop", "command": self, "env": map[string]string{mcpLedger: path}, "roles": w.roles(), "trust_hints": true,
			"allow": w.Allowed},
		{"name": "remote", "url": remote.URL, "roles": w.roles(), "trust_hints": true},
		{"name": "dead", "command": "/bin/false"},
	}, w.More...))
	Must(t, err)
	w.Env = append(w.Env, "EVERTHREAD_AGENT_MCP_SERVERS="+string(list), "EVERTHREAD_AGENT_TOOL_TIMEOUT=2s",
		"EVERTHREAD_TURN_LEASE=3s")
	return path
}

// roles returns the roles that may use the shops: all by default.
func (w *Town) roles() []string {
	if w.ShopsOf != nil {
		return w.ShopsOf
	}
	return []string{"owner", "member"}
}

// Calls returns the recorded calls.
func Calls(t *testing.T, path string) []string {
	t.Helper()
	b, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil
	}
	Must(t, err)
	return strings.Fields(string(b))
}

// Up waits until the shops can be called.
func (g *Gateway) Up() {
	g.t.Helper()
	g.Logged(`MCP server is up.*"shop"`)
	g.Logged(`MCP server is up.*"remote"`)
}
