package agent

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/everthread/everthread/core"
)

var update = flag.Bool("update", false, "write the wanted output of golden files")

const wantMark = "-- inbound --\n"

// testKey is the key of golden files.
var testKey = Key{ID: 7, User: 3, CreatedAt: time.Unix(1789999999, 500)}

// Each file holds the answer to a poll, and after wantMark what becomes of it.
func TestNormaliseGolden(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/normalise/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			raw, want, _ := strings.Cut(string(content), wantMark)
			var got strings.Builder
			out := Normalise(testKey, []byte(strings.TrimSuffix(raw, "\n")), time.Unix(1790000999, 0))
			for _, in := range out.In {
				got.WriteString(dump(in) + "\n")
			}
			if out.Next != nil {
				fmt.Fprintf(&got, "next: %d\n", *out.Next)
			}
			fmt.Fprintf(&got, "last: %s\n", out.Last)
			if *update {
				if err := os.WriteFile(file, []byte(raw+wantMark+got.String()), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got.String() != want {
				t.Errorf("got:\n%s\nwant:\n%s", got.String(), want)
			}
		})
	}
}

// dump lists the fields of an Inbound that are set.
func dump(in core.Inbound) string {
	var b strings.Builder
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%s: %s\n", name, value)
		}
	}
	line("kind", string(in.Kind))
	line("event", in.EventID)
	line("address", in.Address.String())
	line("native", in.NativeID)
	line("target", in.Target)
	line("name", in.Name)
	line("text", in.Text)
	for _, a := range in.Attachments {
		line("attachment", fmt.Sprintf("%+v", a))
	}
	if in.Quote != nil {
		line("quote", fmt.Sprintf("%+v", *in.Quote))
	}
	line("reaction", in.Reaction)
	if in.Status != nil {
		line("status", fmt.Sprintf("%+v", *in.Status))
	}
	if !in.SentAt.IsZero() {
		line("sent", in.SentAt.Format(time.RFC3339))
	}
	return b.String()
}

func FuzzNormalise(f *testing.F) {
	files, _ := filepath.Glob("testdata/normalise/*.txt")
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		raw, _, _ := strings.Cut(string(content), wantMark)
		f.Add([]byte(raw))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, in := range Normalise(testKey, raw, time.Time{}).In {
			check(t, in)
		}
	})
}

func check(t *testing.T, in core.Inbound) {
	t.Helper()
	if in.EventID == "" || in.Kind == "" || in.Address.Channel != Name || in.Address.Account != "7" ||
		(in.Address.External != "") != (in.For == testKey.User) {
		t.Errorf("incomplete: %+v", in)
	}
	for _, s := range []string{in.Text, in.Name, in.EventID, in.Address.External, in.Target,
		in.Reaction, in.ForwardedFrom} {
		if !utf8.ValidString(s) || strings.Contains(s, "\x00") {
			t.Errorf("cannot be stored: %q", s)
		}
	}
	switch in.Kind {
	case core.InMessage:
		if in.Text == "" || in.Address.External == "" || in.NativeID == "" {
			t.Errorf("message without text, sender or id: %+v", in)
		}
	case core.InReceipt:
		if in.Status == nil || in.Target == "" {
			t.Errorf("receipt of nothing: %+v", in)
		}
	}
}
