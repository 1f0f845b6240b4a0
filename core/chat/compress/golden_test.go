package compress_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/chat/compress"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var section = regexp.MustCompile(`(?m)^-- (\w+)(?: .*)? --\n`)

// TestOpen_golden compares the forms of messages with testdata/forms. Each file contains a message
// and its forms.
func TestOpen_golden(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/forms/*.txt")
	if err != nil || len(files) < 10 {
		t.Fatalf("golden files: %v %v", files, err)
	}
	c := compress.New(counter())
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		parts := sections(string(data))
		m := core.Message{ID: 17, Role: core.RoleUser, Kind: core.KindChat, Text: parts["user"]}
		if text, ok := parts["assistant"]; ok {
			m.Role, m.Text = core.RoleAssistant, text
		}
		got := show(m, c.Forms(&m, nil))
		if *update {
			if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(string(data), got); diff != "" && !*update {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

// sections returns the texts between lines such as "-- user --".
func sections(data string) map[string]string {
	out := map[string]string{}
	at := section.FindAllStringSubmatchIndex(data, -1)
	for i, m := range at {
		end := len(data)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		out[data[m[2]:m[3]]] = strings.TrimSuffix(data[m[1]:end], "\n")
	}
	return out
}

func show(m core.Message, forms compress.Forms) string {
	var b strings.Builder
	fmt.Fprintf(&b, "-- %s --\n%s\n", m.Role, m.Text)
	total := counter().Count(m.Text)
	for tier, name := range []string{"", "older", "points", "light", "kernel"} {
		if f := forms[tier]; tier > 0 {
			fmt.Fprintf(&b, "-- %s %s, %d of %d tokens --\n%s\n", name, f.State, f.Tokens, total, f.Text)
		}
	}
	return b.String()
}
