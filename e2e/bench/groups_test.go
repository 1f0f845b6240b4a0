//go:build e2e && bench

package bench

import (
	"flag"
	"testing"
	"time"

	"github.com/everthread/everthread/e2e/e2etest"
)

var (
	groupMessages = flag.Int("group.messages", 20_000, "messages of a group's month")
	groupKills    = flag.Duration("group.kills", 3*time.Second, "how often a process is killed meanwhile")
	groupSeed     = flag.Uint64("group.seed", 7, "what the members write, and how")
)

// TestSoakGroup is a month of a group of twelve, whose smaller version runs in e2e/channels.
func TestSoakGroup(t *testing.T) {
	for engine, database := range map[string]func(*testing.T) string{"sqlite": func(*testing.T) string { return "" },
		"postgres": e2etest.NewStore} {
		t.Run(engine, func(t *testing.T) {
			e2etest.GroupMonth{Messages: *groupMessages, Kills: *groupKills, Seed: *groupSeed}.Live(t, database(t))
		})
	}
}
