//go:build e2e

package e2e

import (
	"strings"
	"testing"
)

// TestAttackAllSeatsOfStrangers has many strangers ask to be let in before an honest
// one does.
func TestAttackAllSeatsOfStrangers(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := newTown(t, database(t))
		w.start("EVERTHREAD_ACCESS_POLICY=pairing")
		const trolls = 30
		for n := range int64(trolls) {
			w.telegram.Say(700_000+n, "let me in")
			w.telegram.Say(700_000+n, "LET ME IN")
		}
		w.telegram.Say(ada, "hello, it is Ada")
		if got := w.sent(ada, 1)[0].Text; !strings.Contains(got, "Your code is") {
			t.Errorf("an honest stranger is told %q", got)
		}
		for n := range int64(trolls) {
			if got := w.sent(700_000+n, 1); len(got) != 1 {
				t.Errorf("a troll is told %q", texts(got))
			}
		}
	})
}
