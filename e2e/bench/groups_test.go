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
	groupFlood    = flag.Duration("group.flood", 3*time.Minute, "how long 500 members write 50 messages a second")
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

// TestBenchGroup measures a group of 500 that writes 50 messages a second.
func TestBenchGroup(t *testing.T) {
	for engine, database := range map[string]func(*testing.T) string{"sqlite": func(*testing.T) string { return "" },
		"postgres": e2etest.NewStore} {
		t.Run(engine, func(t *testing.T) {
			out := e2etest.GroupFlood{Members: 500, Rate: 50, For: *groupFlood}.Measure(t, database(t))
			if out.Received > 50*time.Millisecond {
				t.Errorf("a message is stored after p95 %s, at most 50 ms are wanted", out.Received)
			}
			if out.Beside > 2*out.Alone+10*time.Millisecond {
				t.Errorf("a private turn's p95 is %s beside the group, %s without", out.Beside, out.Alone)
			}
		})
	}
}
