//go:build e2e

package people

import (
	"testing"
	"time"

	"github.com/everthread/everthread/e2e/e2etest"
)

// TestAttack_floodOfStrangers checks that a flood of unauthenticated requests takes little memory,
// and that a request with a key is answered meanwhile.
func TestAttack_floodOfStrangers(t *testing.T) {
	out := e2etest.Flood{Connections: 100, Posts: 3000, Rate: 600}.Stand(t)
	out.RefusedAll(t)
	if out.Peak > 150<<20 {
		t.Errorf("it took %d MiB", out.Peak>>20)
	}
	if out.Loud > max(2*time.Second, 10*out.Quiet) {
		t.Errorf("an answer took %s during the flood", out.Loud)
	}
}
