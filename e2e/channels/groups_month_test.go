//go:build e2e

package channels

import (
	"testing"
	"time"

	"github.com/everthread/everthread/e2e/e2etest"
)

// A month of a group of twelve people in three languages, while processes are killed: it answers what addresses it and
// nothing else, and keeps each message once, in order, by whom it was written.
func TestGroups_aMonth(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		e2etest.GroupMonth{Messages: 600, Kills: 3500 * time.Millisecond, Seed: 7}.Live(t, database(t))
	})
}

// A large group that writes without a pause is stored as fast as it writes, each message once, and people who talk alone
// meanwhile do not wait for it. How fast that is, e2e/bench measures without other tests beside it.
func TestGroups_aFlood(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		out := e2etest.GroupFlood{Members: 100, Rate: 50, For: 6 * time.Second}.Measure(t, database(t))
		if out.Late > time.Second || out.Beside > 4*out.Alone+time.Second { // beside other tests
			t.Errorf("it is slow: %+v", out)
		}
	})
}
