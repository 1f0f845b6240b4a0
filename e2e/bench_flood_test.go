//go:build e2e && bench

package e2e

import "testing"

// TestBenchFlood measures 1,000 slow connections and 100,000 forged posts.
func TestBenchFlood(t *testing.T) {
	out := flood{connections: 1000, posts: 100_000, rate: 1000, other: 20_000}.stand(t)
	out.refusedAll(t)
	if out.peak > 150<<20 {
		t.Errorf("it took %d MiB, at most 150 are wanted", out.peak>>20)
	}
	if out.loud > 2*out.beside {
		t.Errorf("an answer's p95 is %s, %.1f times what it is beside as many posts to another server; 2 are wanted", out.loud, float64(out.loud)/float64(out.beside))
	}
}
