package adaptertest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
)

// wantMark separates the service's input from the expected result in golden files.
const wantMark = "-- inbound --\n"

// Golden checks normalise with the files of testdata/normalise, each of which holds a
// service's input and the expected result. With update it rewrites the results.
func Golden(t *testing.T, update bool, normalise func(raw []byte) string) {
	t.Parallel()
	for file, content := range goldenFiles(t) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			raw, want, _ := strings.Cut(content, wantMark)
			got := normalise([]byte(strings.TrimSuffix(raw, "\n")))
			if update {
				if err := os.WriteFile(file, []byte(raw+wantMark+got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

// Seed adds the inputs of Golden's files to a fuzz target.
func Seed(f *testing.F) {
	for _, content := range goldenFiles(f) {
		raw, _, _ := strings.Cut(content, wantMark)
		f.Add([]byte(raw))
	}
}

func goldenFiles(t testing.TB) map[string]string {
	t.Helper()
	files, err := filepath.Glob("testdata/normalise/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	contents := map[string]string{}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		contents[file] = string(content)
	}
	return contents
}

// compact returns the set fields of a value.
func compact(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

// Dump lists the set fields of an Inbound, without the raw input.
func Dump(in core.Inbound) string {
	var b strings.Builder
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%s: %s\n", name, value)
		}
	}
	line("kind", string(in.Kind))
	line("event", in.EventID)
	line("address", in.Address.String())
	line("place", in.Address.Place)
	line("aliases", strings.Join(in.Aliases, " "))
	line("native", in.NativeID)
	line("target", in.Target)
	line("edited", in.Edited)
	line("name", in.Name)
	line("language", in.Language)
	line("text", in.Text)
	if in.Group != nil {
		line("group", compact(in.Group))
	}
	if in.Tainted {
		line("tainted", "true")
	}
	for _, a := range in.Attachments {
		line("attachment", compact(a))
	}
	if in.Quote != nil {
		line("quote", compact(in.Quote))
	}
	line("forwarded from", in.ForwardedFrom)
	line("reaction", in.Reaction)
	if in.Status != nil {
		line("status", fmt.Sprintf("%+v", *in.Status))
	}
	if !in.SentAt.IsZero() {
		line("sent", in.SentAt.Format(time.RFC3339))
	}
	return b.String()
}
