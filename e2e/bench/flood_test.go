//go:build e2e && bench

package bench

import (
	"testing"

	"github.com/everthread/everthread/e2e/e2etest"
)

// TestBenchFlood measures 1,000 slow connections and 100,000 forged posts.
func TestBenchFlood(t *testing.T) {
	out := e2etest.Flood{Connections: 1000, Posts: 100_000, Rate: 1000, Other: 20_000}.Stand(t)
	out.RefusedAll(t)
	if out.Peak > 150<<20 {
		t.Errorf("it took %d MiB, at most 150 are wanted", out.Peak>>20)
	}
	if out.Loud > 2*out.Beside {
		t.Errorf("an answer's p95 is %s, %.1f times that during as many posts to another server; want at most 2",
			out.Loud, float64(out.Loud)/float64(out.Beside))
	}
}
