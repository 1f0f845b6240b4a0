//go:build e2e && linux

package road

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/everthread/everthread/e2e/e2etest"
)

// TestTurnBenchmark_measures runs the benchmark of docs/benchmarks.md with few turns, two processes on one database
// included: every figure is there.
func TestTurnBenchmark_measures(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		url, processes := database(t), "1"
		if url != "" {
			processes = "2"
		}
		out := filepath.Join(t.TempDir(), "figures")
		bench := exec.Command("go", "run", "../../bench/turns", "-cmd", e2etest.Program+" serve", "-processes", processes,
			"-dir", t.TempDir(), "-settle", "10ms", "-turns", "3", "-jitter", "10ms", "-loads", "1,2", "-load-for", "500ms",
			"-json", out)
		bench.Env = append(os.Environ(), "EVERTHREAD_DATABASE_URL="+url)
		said, err := bench.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, said)
		}
		text, err := os.ReadFile(out)
		e2etest.Must(t, err)
		type level struct {
			Turns int
			Rate  float64 `json:"turns_per_s"`
			P50   float64 `json:"overhead_p50_ms"`
			RSS   float64 `json:"rss_mb"`
			Own   float64 `json:"own_mb"`
		}
		var f struct {
			Start          float64 `json:"start_s"`
			Floor          float64 `json:"floor_p50_ms"`
			Fresh, Settled level
			Paced          level
			Loads          []level
		}
		e2etest.Must(t, json.Unmarshal(text, &f))
		if f.Start <= 0 || f.Floor <= 0 ||
			f.Fresh.RSS <= f.Fresh.Own || f.Settled.Own <= 0 || f.Paced.Turns != 3 || len(f.Loads) != 2 {
			t.Errorf("got %s", text)
		}
		for _, l := range append(f.Loads, f.Paced) {
			if l.Turns < 1 || l.Rate <= 0 || l.P50 <= 0 || l.Own <= 0 || l.RSS <= l.Own {
				t.Errorf("got %+v", l)
			}
		}
		t.Logf("%s", said)
	})
}
