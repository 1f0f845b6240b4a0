package importer_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/everthread/everthread/core/archive/importer"
	"github.com/everthread/everthread/internal/fulltest"
)

// TestTelegram_deletedAccounts checks that messages of deleted accounts are imported.
func TestTelegram_deletedAccounts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, file, me string
		want           []string
	}{
		{"a chat of two and a group", "telegram/deleted", "", []string{"user chat, from Deleted account 8: are you coming?",
			"user chat: yes",
			"user chat, from Deleted account: they said so", "user chat, from Deleted account 9: of a chat without a number",
			"user chat: of nobody at all", "user chat, from Deleted account 6: who drives?", "user chat, from Deleted account 7: not me",
			"user chat, from Deleted account 6: I do, then", "user chat, from Bob: of an old export",
			"user chat, from Deleted account 12: of a channel that is gone"}},
		{"nobody else in it", "telegram/alone", "", []string{"user chat: one", "user chat: two"}},
		{"one of them is me", "telegram/deleted", "deleted account 7",
			[]string{"user chat, from Deleted account 6: who drives?", "user chat, from Deleted account 7: not me"}},
		{"numbers for names", "whatsapp/numbers", "Ada",
			[]string{"user chat, from +1 (555) 010‑0199: it is me", "user chat, from Bob: is WhatsApp end-to-end encrypted?",
				"user chat, from +15550199: my new number", "user chat: my aunt changed their phone number, too"}},
		{"one of the numbers is me", "whatsapp/numbers", "+15550199", []string{"user chat: my new number"}},
		{"ChatGPT", "chatgpt/removed", "", []string{"user chat: first", "assistant chat: last"}},
		{"Claude", "claude/removed", "", []string{"user chat: kept", "user chat: before", "assistant chat: an answer",
			"assistant chat: after", "user chat: and on"}},
		{"OpenClaw", "openclaw/removed", "", []string{"user chat: hello", "assistant chat: hi"}},
		{"PicoClaw", "picoclaw/removed", "", []string{"user chat: hello", "assistant chat: hi"}},
		{"JSON Lines", "jsonl/removed", "", []string{"user chat: hello", "assistant chat: ", "assistant chat: hi"}},
	} {
		w := newWorld(t)
		format := filepath.Dir(c.file)
		first := w.bring(format, "testdata/"+c.file, c.me)
		got := w.said(0)
		for _, want := range c.want {
			if !slices.Contains(strings.Split(got, "\n"), want) {
				t.Errorf("%s: got\n%s\nwant %q", c.name, got, want)
			}
		}
		if again := w.bring(format, "testdata/"+c.file, c.me); again.Fresh != 0 ||
			again.Known != first.Fresh || w.said(0) != got {
			t.Errorf("%s, again: got %+v", c.name, again)
		}
	}
}

// TestTelegram_groupWithoutThePerson checks that an account's export may include a group without
// a message of the user.
func TestTelegram_groupWithoutThePerson(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	text := `{"personal_information": {"user_id": 5}, "chats": {"list": [{"name": "News", "type": "private_group", "id": 9, "messages": [
		{"id": 1, "type": "message", "date_unixtime": "1709452800", "from": "Bob", "from_id": "user6", "text": "is anybody there?"}]}]}}`
	file := filepath.Join(t.TempDir(), "result.json")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	w.bring("telegram", file, "")
	if got := w.said(0); got != "user chat, from Bob: is anybody there?" {
		t.Errorf("got %s", got)
	}
}

// texts returns a text file with a few messages for each format.
func texts() map[string]string {
	return map[string]string{"telegram": "deleted/result.json", "whatsapp": "android/WhatsApp Chat with Bob.txt",
		"chatgpt": "tree/conversations.json", "claude": "two/conversations.json", "openclaw": "removed/s1.jsonl",
		"picoclaw": "removed/telegram_42.jsonl", "jsonl": "export/messages.jsonl"}
}

// try imports an archive that may contain no messages.
func (w *world) try(format, file string) (importer.Result, error) {
	w.t.Helper()
	a := open(w.t, file)
	o := paris(w.t)
	s, err := importer.NewSurvey(a, format, o, map[string]string{"whatsapp": "Ada"}[format], w.u.Name, w.label)
	if err != nil {
		return importer.Result{}, err
	}
	return w.importer(w.st).Run(w.t.Context(), a, format, o, s)
}

// TestFormats_mayStopAnywhere checks that of a truncated file the part before the cut is
// imported, and that the whole file then adds the rest: the result is that of the whole file alone.
func TestFormats_mayStopAnywhere(t *testing.T) {
	t.Parallel()
	cuts := fulltest.Size(2, 12)
	for format, name := range texts() {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			whole, err := os.ReadFile(filepath.Join("testdata", format, name))
			if err != nil {
				t.Fatal(err)
			}
			alone := newWorld(t)
			alone.giveText(format, name, whole)
			want := alone.said(0)
			for n := 1; n < cuts; n++ {
				at := len(whole) * n / cuts
				w := newWorld(t)
				part := w.giveText(format, name, whole[:at])
				rest := w.giveText(format, name, whole)
				if got := w.said(0); got != want || rest.Known != part.Fresh {
					t.Errorf("cut at %d of %d: %+v, then %+v, got\n%s\nwant\n%s", at, len(whole), part, rest, got, want)
				}
			}
		})
	}
}

// giveText imports a text as a file with this name. It may contain no messages.
func (w *world) giveText(format, name string, text []byte) importer.Result {
	w.t.Helper()
	file := filepath.Join(w.t.TempDir(), filepath.Base(name))
	if err := os.WriteFile(file, text, 0o600); err != nil {
		w.t.Fatal(err)
	}
	out, err := w.try(format, file)
	if err != nil && !strings.Contains(err.Error(), "no readable message in it") &&
		!errors.Is(err, importer.ErrMe) {
		w.t.Fatalf("%s: %v", name, err)
	}
	return out
}

// wide returns a text in UTF-16.
func wide(text string, order binary.AppendByteOrder, mark bool) []byte {
	var out []byte
	if mark {
		out = order.AppendUint16(nil, 0xfeff)
	}
	for _, u := range utf16.Encode([]rune(text)) {
		out = order.AppendUint16(out, u)
	}
	return out
}

// TestFormats_mayChangeTheirEncoding checks that a file whose encoding changes is imported as far
// as it is readable, and that the rest is reported.
func TestFormats_mayChangeTheirEncoding(t *testing.T) {
	t.Parallel()
	for format, name := range texts() {
		whole, err := os.ReadFile(filepath.Join("testdata", format, name))
		if err != nil {
			t.Fatal(err)
		}
		text := string(whole)
		half := strings.LastIndexByte(text[:len(text)*2/3], '\n') + 1
		for kind, changed := range map[string][]byte{
			"a mark":             []byte("\ufeff" + text),
			"a mark within":      []byte(text[:half] + "\ufeff" + text[half:]),
			"Latin-1 within":     []byte(strings.NewReplacer("e", "\xe9").Replace(text[half:])),
			"UTF-16":             wide(text, binary.LittleEndian, true),
			"UTF-16 from half":   append([]byte(text[:half]), wide(text[half:], binary.LittleEndian, true)...),
			"UTF-16BE from half": append([]byte(text[:half]), wide(text[half:], binary.BigEndian, false)...),
			"bytes from half":    append([]byte(text[:half]), bytes.Repeat([]byte{0xff, 0x00, 0x80, '\n'}, 500)...),
		} {
			file := filepath.Join(t.TempDir(), filepath.Base(name))
			if kind == "Latin-1 within" { // in texts, not in names of fields
				changed = []byte(strings.NewReplacer("key", "k\xe9y", "hello", "h\xe9llo", "table", "tabl\xe9", "dough", "do\xfcgh",
					"sow", "s\xf6w", "coming", "com\xefng", "later", "lat\xe9r").Replace(text))
			}
			if err := os.WriteFile(file, changed, 0o600); err != nil {
				t.Fatal(err)
			}
			a := open(t, file)
			s, err := importer.NewSurvey(a, format, paris(t), map[string]string{"whatsapp": "Ada"}[format], "Ada",
				func(at time.Time) string { return at.Format(time.DateOnly) })
			got := render(a, format, paris(t))
			switch {
			case kind == "UTF-16":
				if err == nil || !strings.Contains(err.Error(), "is UTF-16; save it as UTF-8") {
					t.Errorf("%s: %s: %v", format, kind, err)
				}
				continue
			case format == "chatgpt" && err != nil: // a conversation is all or nothing
				if !strings.Contains(err.Error(), "conversations.json, byte ") ||
					!strings.Contains(err.Error(), "cut off or broken here") {
					t.Errorf("%s: %s: %v", format, kind, err)
				}
				continue
			case err != nil || s.Messages == 0:
				t.Errorf("%s: %s: %+v, %v", format, kind, s, err)
				continue
			case kind == "Latin-1 within" && !strings.Contains(got, "\ufffd"):
				t.Errorf("%s: %s: got %s", format, kind, got)
			}
			if strings.Contains(got, `\x00`) || strings.Contains(got, "\ufffd\ufffd") {
				t.Errorf("%s: %s: got %q", format, kind, got)
			}
			if strings.HasSuffix(kind, "half") && (s.LeftOut == 0 ||
				!strings.Contains(fmt.Sprint(s.Left), filepath.Base(name)+", ")) {
				t.Errorf("%s: %s: the survey does not report what is left out: %+v", format, kind, s)
			}
		}
	}
}
