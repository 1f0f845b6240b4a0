package telegram

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

// Each file holds an update as the service sends it, and after wantMark what
// becomes of it for the bot 999.
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
			in := Normalise("999", []byte(strings.TrimSuffix(raw, "\n")), time.Unix(1790000999, 0))
			got := dump(in)
			if *update {
				if err := os.WriteFile(file, []byte(raw+wantMark+got), 0o644); err != nil {
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
	line("language", in.Language)
	line("text", in.Text)
	for _, a := range in.Attachments {
		line("attachment", fmt.Sprintf("%+v", a))
	}
	if in.Quote != nil {
		line("quote", fmt.Sprintf("%+v", *in.Quote))
	}
	line("forwarded from", in.ForwardedFrom)
	line("reaction", in.Reaction)
	if !in.SentAt.IsZero() {
		line("sent", in.SentAt.Format(time.RFC3339))
	}
	return b.String()
}

func TestNormaliseNamesRepeatsAlike(t *testing.T) {
	t.Parallel()
	first := `{"update_id":1,"message":{"message_id":5,"date":1,"from":{"id":7,"is_bot":false},"chat":{"id":7,"type":"private"},"text":"a"}}`
	again := strings.Replace(first, `"update_id":1`, `"update_id":99`, 1)
	edit := strings.Replace(first, `"message":`, `"edited_message":`, 1)
	other := strings.Replace(edit, `"text":"a"`, `"text":"b"`, 1)
	id := func(raw string) string { return Normalise("9", []byte(raw), time.Time{}).EventID }
	if id(first) != id(again) {
		t.Errorf("%q and %q for the same message", id(first), id(again))
	}
	if id(first) == id(edit) || id(edit) == id(other) {
		t.Errorf("message %q, edit %q and another edit %q are not told apart", id(first), id(edit), id(other))
	}
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
		in := Normalise("999", raw, time.Time{})
		if in.EventID == "" || in.Kind == "" || in.Address.Channel != Name {
			t.Errorf("incomplete: %+v", in)
		}
		if !utf8.ValidString(in.Text) || !utf8.ValidString(in.Name) || !utf8.ValidString(in.EventID) {
			t.Errorf("invalid UTF-8: %+v", in)
		}
		if in.Kind == core.InMessage && (in.Text == "" || in.Address.External == "") {
			t.Errorf("message without text or sender: %+v", in)
		}
	})
}
