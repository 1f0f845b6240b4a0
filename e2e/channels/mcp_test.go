//go:build e2e

package channels

import (
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/e2e/e2etest"
)

func TestMCPServers_toolsAreCalled(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewClock(t, database(t))
		path := w.Shops(t)
		g := w.Start()
		g.Up()
		for text, want := range map[string]string{
			`call shop_stock {"item":"screws"}`:  "tool said: 42 boxes of screws",
			`call remote_stock {"item":"nails"}`: "tool said: 42 boxes of nails",
		} {
			if got := w.Ask(text).Text; got != want {
				t.Errorf("%s: got %q", text, got)
			}
		}
		if got := e2etest.Calls(t, path); len(got) != 2 {
			t.Errorf("called %q", got)
		}
		if got := w.Ask("call dead_stock {}").Text; !strings.Contains(got, "Error: there is no tool") {
			t.Errorf("got %q", got)
		}
	})
}

// A faulty server costs one error that says what is wrong; the turn continues, and so does
// the next one.
func TestMCPServers_troubleCostsOneError(t *testing.T) {
	t.Parallel()
	w := e2etest.NewClock(t, "")
	w.Shops(t)
	g := w.Start()
	g.Up()
	for _, server := range []string{"shop", "remote"} {
		begin := time.Now()
		got := w.Ask("call " + server + `_hang {"item":"x"}`).Text
		if !strings.HasPrefix(got, "tool said: Error: the tool did not answer within 2s") ||
			time.Since(begin) > 10*time.Second {
			t.Errorf("%s hangs: after %s got %q", server, time.Since(begin), got)
		}
	}
	if got := w.Ask(`call shop_die {"item":"x"}`).Text; !strings.HasPrefix(got, "tool said: Error: ") ||
		!strings.Contains(got, "status 7") {
		t.Errorf("the server dies: got %q", got)
	}
	if got := w.Ask(`call remote_stock {"item":"nails"}`).Text; got != "tool said: 42 boxes of nails" {
		t.Errorf("the other server: got %q", got)
	}
	g.Logged("MCP server is up again")
	if got := w.Ask(`call shop_stock {"item":"screws"}`).Text; got != "tool said: 42 boxes of screws" {
		t.Errorf("after it was started again: got %q", got)
	}
	if got := w.Ask(`call shop_flood {"item":"x"}`).Text; !strings.HasPrefix(got, "tool said: Error: ") ||
		len(got) > 2000 {
		t.Errorf("the server floods: got %d bytes, %.300q", len(got), got)
	}
	if got := w.Ask("hello").Text; got != "echo: hello" {
		t.Errorf("got %q", got)
	}
}

// The effects of an external tool are not repeated when the process dies before the answer
// is stored.
func TestMCPServers_noSecondCallAfterPowerCut(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewClock(t, database(t))
		path := w.Shops(t)
		g := w.Start("EVERTHREAD_CRASH_AT=model")
		g.Up()
		w.Write(`call remote_stock {"item":"hinges"}`)
		if !g.Wait(20 * time.Second) {
			t.Fatalf("it did not crash\n%s", g.Log)
		}
		if got := e2etest.Calls(t, path); len(got) != 1 {
			t.Fatalf("called %q before the power cut", got)
		}
		g = w.Start()
		if got := w.Receive().Text; got != "tool said: 42 boxes of hinges" {
			t.Errorf("got %q\n%s", got, g.Log)
		}
		w.Settle(w.Ledger(), g)
		if got := e2etest.Calls(t, path); len(got) != 1 {
			t.Errorf("called %q", got)
		}
	})
}
