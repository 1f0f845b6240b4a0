package repocheck_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestProviders_areAskedThroughTheLedger checks that clients of providers are made in two files, and that their callers
// count what they use, or only check whether one answers.
func TestProviders_areAskedThroughTheLedger(t *testing.T) {
	t.Chdir(root)
	makes := regexp.MustCompile(`\b(demo|anthropic|transcribe|speak|llmembed)\.New\(|\bopenai\.New\(openai\.Options\{BaseURL`)
	raw := regexp.MustCompile(`[^.\w](engine\.)?(Models|Model|Transcriber|Speaker|Embedder)\(`)
	wires := func(path string) bool {
		return filepath.Dir(path) == "cmd/everthread" || filepath.Dir(path) == "core/engine"
	}
	places := map[*regexp.Regexp][]string{
		makes: {"models.go", "embedders.go"},
		raw:   {"models.go", "embedders.go", "cmd_doctor.go", "cmd_init_try.go", "doctor_features.go", "doctor_channels.go"},
	}
	seen := 0
	for _, dir := range []string{"cmd", "adapters", "core"} {
		err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") ||
				strings.HasPrefix(path, "core/llm/") {
				return err
			}
			b, err := os.ReadFile(path)
			for what, where := range places {
				if what == raw && !wires(path) {
					continue
				}
				for line := range strings.Lines(string(b)) {
					if strings.HasPrefix(line, "func ") || !what.MatchString(line) {
						continue
					}
					seen++
					if !slices.Contains(where, filepath.Base(path)) || !wires(path) {
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
	for file, counts := range map[string][]string{
		"core/engine/models.go":    {"return e.Ledger.Model(m), nil", "return e.Ledger.Transcriber(t, ", "return e.Ledger.Speaker(s, "},
		"core/engine/engine.go":    {"chat, err := e.models(c.LLM)"},
		"core/engine/features.go":  {"m, err = e.models(llm)", "NewEmbedders(e.Process, e.Ledger)"},
		"core/engine/embedders.go": {"return e.ledger.Embedder(one, ", "return e.ledger.Embedder(e.system, "},
	} {
		b, err := os.ReadFile(file)
		for _, want := range counts {
			if err != nil || !strings.Contains(string(b), want) {
				t.Errorf("%s does not count: %q is missing (%v)", file, want, err)
			}
		}
	}
}
