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

// A large group that writes without a pause is heard at once, each message is stored once, and who talks alone meanwhile
// does not wait for it. e2e/bench measures it in full.
func TestGroups_aFlood(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		out := e2etest.GroupFlood{Members: 100, Rate: 50, For: 6 * time.Second}.Measure(t, database(t))
		if out.Received > time.Second || out.Beside > 4*out.Alone+time.Second { // beside other tests
			t.Errorf("it is slow: %+v", out)
		}
	})
}
