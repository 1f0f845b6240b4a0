package everthread_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestEveryProviderIsAskedThroughTheLedger: what makes a client of a provider stands
// in three files, and who uses these counts them, or only checks whether one answers.
func TestEveryProviderIsAskedThroughTheLedger(t *testing.T) {
	t.Parallel()
	makes := regexp.MustCompile(`\b(demo|anthropic|transcribe|llmembed)\.New\(|\bopenai\.New\(openai\.Options\{BaseURL`)
	raw := regexp.MustCompile(`[^.\w](models|model|transcriber|newEmbedder)\(`)
	places := map[*regexp.Regexp][]string{
		makes: {"wire.go", "features.go", "embedders.go"},
		raw:   {"wire.go", "providers.go", "features.go", "embedders.go", "cmd_doctor.go", "cmd_init_try.go", "doctor_features.go", "doctor_channels.go"},
	}
	seen := 0
	for _, dir := range []string{"cmd", "adapters", "core"} {
		err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "core/llm/") {
				return err
			}
			b, err := os.ReadFile(path)
			for what, where := range places {
				if what == raw && dir != "cmd" {
					continue
				}
				for line := range strings.Lines(string(b)) {
					if strings.HasPrefix(line, "func ") || !what.MatchString(line) {
						continue
					}
					seen++
					if !slices.Contains(where, filepath.Base(path)) || !strings.HasPrefix(path, "cmd/everthread/") {
						t.Errorf("%s asks a provider past the ledger: %s", path, strings.TrimSpace(line))
					}
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if seen < 10 {
		t.Errorf("only %d places were seen", seen)
	}
	for file, want := range map[string]string{"cmd/everthread/wire.go": "a.models(c.LLM)", "cmd/everthread/background.go": "a.models(llm)", "cmd/everthread/features.go": "a.embedders.counted = a.ledger.Embedder"} {
		if b, err := os.ReadFile(file); err != nil || !strings.Contains(string(b), want) {
			t.Errorf("%s does not count: %q is missing (%v)", file, want, err)
		}
	}
}
