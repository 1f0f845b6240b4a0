//go:build e2e

package people

import (
	"strings"
	"testing"

	"github.com/everthread/everthread/e2e/e2etest"
)

// TestAttack_allSeatsOfStrangers checks that a stranger can request access although many others did
// before.
func TestAttack_allSeatsOfStrangers(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewTown(t, database(t))
		w.Start("EVERTHREAD_ACCESS_POLICY=pairing")
		const trolls = 30
		for n := range int64(trolls) {
			w.Telegram.Say(700_000+n, "let me in")
			w.Telegram.Say(700_000+n, "LET ME IN")
		}
		w.Telegram.Say(e2etest.Ada, "hello, it is Ada")
		if got := w.Sent(e2etest.Ada, 1)[0].Text; !strings.Contains(got, "Your code is") {
			t.Errorf("the honest stranger got %q", got)
		}
		for n := range int64(trolls) {
			if got := w.Sent(700_000+n, 1); len(got) != 1 {
				t.Errorf("another stranger got %q", e2etest.Texts(got))
			}
		}
	})
}
