package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// What is counted under a name that nobody declared ends the process.
func TestEveryMetricIsDeclared(t *testing.T) {
	t.Parallel()
	m := newMeter()
	use := regexp.MustCompile(`(Count|Observe)\("(everthread_\w+)"`)
	seen := 0
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, found := range use.FindAllStringSubmatch(string(text), -1) {
			seen++
			if name := found[2]; found[1] == "Count" && m.counters[name] == nil || found[1] == "Observe" && m.histograms[name] == nil {
				t.Errorf("%s counts %s, which is not declared", path, name)
			}
		}
		return err
	})
	if err != nil || seen < 10 {
		t.Fatalf("found %d metrics: %v", seen, err)
	}
}
