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
		e2etest.GroupMonth{Messages: 600, Kills: 2500 * time.Millisecond, Seed: 7}.Live(t, database(t))
	})
}
