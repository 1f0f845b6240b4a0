//go:build e2e

package road

import (
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/e2e/e2etest"
)

// A task that needs a tool with an external effect asks on the person's home when it is
// due, and after a yes runs it once even if the process dies in between, and counts it as
// its own; after a no it does nothing.
func TestTasks_askBeforeTheyActOutside(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewClock(t, database(t))
		path := w.Shops(t)
		g := w.Start()
		g.Up()
		w.Ask("hello")
		mails := func() (n int) {
			for _, call := range e2etest.Calls(t, path) {
				if strings.HasPrefix(call, "mail") {
					n++
				}
			}
			return n
		}
		due := func(after time.Duration) {
			w.Set(w.Now().Add(after + time.Second))
			if got := w.Receive().Text; !strings.Contains(got, "shop_mail") || !strings.Contains(got, "ann") {
				t.Fatalf("what it asks: %q\n%s", got, g.Log)
			}
			if n := mails(); n != 0 {
				t.Errorf("%d mails before the yes", n)
			}
		}
		w.Ask(`/task in 10 minutes call shop_mail {"to":"ann"}`)
		due(10 * time.Minute)
		if got := w.Ask("no").Text; strings.Contains(got, "sent to ann") || mails() != 0 {
			t.Errorf("after the no: %q", got)
		}
		w.Ask(`/task in 10 minutes call shop_mail {"to":"ann"}`)
		due(10 * time.Minute)
		g.Stop()
		g = w.Start("EVERTHREAD_CRASH_AT=model")
		g.Up()
		w.Write("/yes " + w.Ledger().Lines(`SELECT code FROM approvals WHERE state = 'open'`)[0])
		if !g.Wait(20 * time.Second) {
			t.Fatalf("it did not crash\n%s", g.Log)
		}
		g = w.Start()
		if got := w.Receive().Text; got != "tool said: sent to ann" {
			t.Errorf("got %q\n%s", got, g.Log)
		}
		w.Settle(w.Ledger(), g)
		if n := mails(); n != 1 {
			t.Errorf("%d mails, want 1: %q", n, e2etest.Calls(t, path))
		}
	})
}
