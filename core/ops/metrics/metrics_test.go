package metrics

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestMetrics_areDeclared checks all names that the product counts, because counting an
// undeclared name panics.
func TestMetrics_areDeclared(t *testing.T) {
	t.Parallel()
	m := New(Prices{}, nil)
	use := regexp.MustCompile(`(Count|Observe)\("(everthread_\w+)"`)
	seen := 0
	err := filepath.WalkDir("../../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, found := range use.FindAllStringSubmatch(string(text), -1) {
			seen++
			if name := found[2]; found[1] == "Count" && m.counters[name] == nil || found[1] == "Observe" &&
				m.histograms[name] == nil {
				t.Errorf("%s counts the undeclared %s", path, name)
			}
		}
		return err
	})
	if err != nil || seen < 10 {
		t.Fatalf("found %d uses of metrics, want at least 10: %v", seen, err)
	}
}

func TestPrices_costOfTheTokens(t *testing.T) {
	t.Parallel()
	m := New(Prices{Prompt: 10, Cached: 1, Completion: 100, Currency: "EUR"}, []string{"telegram"})
	if got := m.spent.total(); got != 0 {
		t.Errorf("got %g before any tokens", got)
	}
	m.Count("everthread_tokens_total", 300_000, "cached")
	m.Count("everthread_tokens_total", 1_000_000, "prompt")
	m.Count("everthread_tokens_total", 20_000, "completion")
	if got := m.spent.total(); got != 7+0.3+2 {
		t.Errorf("got %g", got)
	}
	m.Count("everthread_tokens_total", 500_000, "cached") // before the prompt's tokens, which include them
	if got := m.spent.total(); got != 7+0.3+2 {
		t.Errorf("the cost fell to %g", got)
	}
}

func TestMetrics_seriesFromTheStart(t *testing.T) {
	t.Parallel()
	m := metric{"a", "", "direction=in|out channel=CHANNELS"}
	if got := m.known([]string{"x", "y"}); !slices.EqualFunc(got, [][]string{{"in", "x"}, {"in", "y"}, {"out", "x"},
		{"out", "y"}}, slices.Equal) {
		t.Errorf("got %v", got)
	}
	if got := (metric{}).known(nil); len(got) != 1 || got[0] != nil {
		t.Errorf("without labels: %v", got)
	}
}
