package markup

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const wantMark = "-- text and spans --\n"

// TestParse_golden parses the Markdown of each file and compares the result with what follows
// wantMark.
func TestParse_golden(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			md, want, _ := strings.Cut(string(content), wantMark)
			got := dump(Parse(md))
			if *update {
				if err := os.WriteFile(file, []byte(md+wantMark+got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

func dump(t Text) string {
	var b strings.Builder
	b.WriteString(t.Text + "\n\n")
	for _, s := range t.Spans {
		fmt.Fprintf(&b, "%s %q", s.Kind, t.Text[s.Start:s.End])
		if s.Value != "" {
			fmt.Fprintf(&b, " %s", s.Value)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
