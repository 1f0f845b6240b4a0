package importer_test

import (
	"archive/zip"
	"bytes"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/core/archive/importer"
	"github.com/everthread/everthread/internal/fulltest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func paris(t testing.TB) importer.Options {
	t.Helper()
	zone, err := time.LoadLocation("Europe/Paris")
	if err != nil {
		t.Fatal(err)
	}
	return importer.Options{Zone: zone, Now: now}
}

// render returns the contents of an archive as text.
func render(a *importer.Archive, format string, o importer.Options) string {
	var b strings.Builder
	var left []string
	counted := map[string]int{}
	line := func(l importer.Line) error {
		who := string(l.Role)
		if who == "" {
			who = "?"
		}
		fmt.Fprintf(&b, "%s %s %q/%q %s %q\n", l.At.UTC().Format(time.RFC3339Nano), who, l.Chat, l.ID, l.From, l.Text)
		if l.Quote != "" || l.ForwardedFrom != "" {
			fmt.Fprintf(&b, "\tquotes %q, forwarded from %q\n", l.Quote, l.ForwardedFrom)
		}
		for _, f := range l.Files {
			fmt.Fprintf(&b, "\tfile %s %q %s in %q", f.Kind, f.Name, f.MIME, f.Entry)
			if len(f.Data) > 0 {
				fmt.Fprintf(&b, ", %d bytes within", len(f.Data))
			}
			b.WriteString("\n")
		}
		if o := l.Own; o != nil {
			fmt.Fprintf(&b, "\town %s day %q plain %t title %q redacted %t revisions %d\n", o.Kind, o.Day, o.Plain, l.Title,
				o.Redacted, len(o.Revisions))
		}
		if l.Untimed {
			b.WriteString("\twithout a time\n")
		}
		return nil
	}
	err := importer.Read(a, format, o, importer.Taker{Line: line,
		Fact: func(f importer.Fact) { fmt.Fprintf(&b, "fact of %s (noted %t): %q\n", f.From, f.Noted, f.Text) },
		Left: func(l importer.Left) {
			if l.Place == "" {
				counted[l.Why]++
				return
			}
			left = append(left, "left out: "+l.Place+": "+l.Why+"\n")
		}})
	b.WriteString(strings.Join(left, ""))
	for _, why := range slices.Sorted(maps.Keys(counted)) {
		fmt.Fprintf(&b, "left out: %d: %s\n", counted[why], why)
	}
	if err != nil {
		fmt.Fprintf(&b, "error: %v\n", err)
	}
	return b.String()
}

func TestOpen_golden(t *testing.T) {
	t.Parallel()
	cases, err := filepath.Glob("testdata/*/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range cases {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() || strings.Contains(dir, "fuzz") {
			continue
		}
		t.Run(dir, func(t *testing.T) {
			t.Parallel()
			a, err := importer.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer a.Close()
			got := render(a, filepath.Base(filepath.Dir(dir)), paris(t))
			golden := dir + ".want"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got\n%swant\n%s", got, want)
			}
		})
	}
}

// pack writes a ZIP file of entries.
func pack(t testing.TB, entries map[string]string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, text := range entries {
		f, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(f, text); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "a.zip")
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func open(t testing.TB, file string) *importer.Archive {
	t.Helper()
	a, err := importer.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

func TestOpen_packedReadsAsTheFolder(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"testdata/whatsapp/ios", "testdata/telegram/one", "testdata/jsonl/export",
		"testdata/chatgpt/tree"} {
		entries := map[string]string{"__MACOSX/._chat.txt": "x"}
		err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := os.ReadFile(name)
			entries[filepath.ToSlash(strings.TrimPrefix(name, dir+"/"))] = string(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(dir + ".want")
		if err != nil {
			t.Fatal(err)
		}
		if got := render(open(t, pack(t, entries)), filepath.Base(filepath.Dir(dir)), paris(t)); got != string(want) {
			t.Errorf("%s: got\n%swant\n%s", dir, got, want)
		}
	}
}

// TestOpen_bombs checks that archives much larger than they look are read in part, and that the rest is
// reported.
func TestOpen_bombs(t *testing.T) {
	fulltest.Only(t)
	t.Parallel()
	zeros, line := strings.Repeat("0", 66<<20), strings.Repeat("0", 18<<20)
	for format, entries := range map[string]map[string]string{
		"telegram": {"result.json": `{"name":"x","type":"bot_chat","id":1,"messages":[{"id":1,"type":"message","date_unixtime":"1709280060","from_id":"user1","text":"hi"},{"text":"` + zeros + `"}]}`},
		"whatsapp": {"_chat.txt": "[03.04.23, 21:41:07] Ada: hi\n[03.04.23, 21:41:08] Ada: " + line},
		"jsonl": {"messages.jsonl": `{"role":"user","text":"hi","sent_at":"2024-01-01T00:00:00Z"}` + "\n" +
			`{"text":"` + line + `"}`},
	} {
		a := open(t, pack(t, entries))
		if got := render(a, format, paris(t)); !strings.Contains(got, `"hi"`) || !strings.Contains(got, "left out: ") ||
			len(got) > 2000 {
			t.Errorf("%s: got %.2000s", format, got)
		}
	}
}

// nothing returns a taker that discards everything.
func nothing() importer.Taker {
	return importer.Taker{Line: func(importer.Line) error { return nil }, Fact: func(importer.Fact) {},
		Left: func(importer.Left) {}}
}

func TestOpen_nothingInIt(t *testing.T) {
	t.Parallel()
	for _, format := range importer.Formats() {
		for name, entries := range map[string]map[string]string{"empty": {}, "other": {"x.bin": "\x00\x01"},
			"hollow": {"result.json": "{}", "conversations.json": "[]", "messages.jsonl": "\n", "_chat.txt": ""}} {
			err := importer.Read(open(t, pack(t, entries)), format, paris(t), nothing())
			if err == nil {
				t.Errorf("%s, %s archive: no error", format, name)
			}
		}
	}
	if _, err := importer.Open(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a missing file opens without an error")
	}
	if err := importer.Read(nil, "tape", paris(t), importer.Taker{}); err == nil {
		t.Error("an unknown format is read without an error")
	}
}

// fuzz gives a reader fuzzed bytes as the only file of an archive.
func fuzz(f *testing.F, format, name string) {
	seeds, err := filepath.Glob("testdata/" + format + "/*/*")
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range seeds {
		if b, err := os.ReadFile(seed); err == nil {
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
		a, err := importer.Open(file)
		if err != nil {
			return // a broken ZIP file
		}
		defer a.Close()
		take := nothing()
		take.Line = func(l importer.Line) error {
			if l.At.IsZero() || l.At.After(now.AddDate(0, 0, 2)) {
				t.Errorf("time %s", l.At)
			}
			return nil
		}
		err = importer.Read(a, format, importer.Options{Zone: time.UTC, Now: now}, take)
		_ = err // an unreadable archive is fine
	})
}

func FuzzTelegram(f *testing.F)  { fuzz(f, "telegram", "result.json") }
func FuzzWhatsApp(f *testing.F)  { fuzz(f, "whatsapp", "_chat.txt") }
func FuzzChatGPT(f *testing.F)   { fuzz(f, "chatgpt", "conversations.json") }
func FuzzClaude(f *testing.F)    { fuzz(f, "claude", "conversations.json") }
func FuzzOpenClaw(f *testing.F)  { fuzz(f, "openclaw", "s.jsonl") }
func FuzzPicoClaw(f *testing.F)  { fuzz(f, "picoclaw", "s.json") }
func FuzzOwn(f *testing.F)       { fuzz(f, "jsonl", "messages.jsonl") }
func FuzzOpenWebUI(f *testing.F) { fuzz(f, "openwebui", "chats.json") }
func FuzzLibreChat(f *testing.F) { fuzz(f, "librechat", "chat.json") }
func FuzzHermes(f *testing.F)    { fuzz(f, "hermes", "sessions.jsonl") }
func FuzzLetta(f *testing.F)     { fuzz(f, "letta", "agent.af") }
