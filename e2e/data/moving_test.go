//go:build e2e

package data

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/everthread/everthread/e2e/e2etest"
)

// Conversations from other assistants are imported and found, and what those assistants knew is in
// memory. After a move to the other engine everything is as before.
func TestImport_movingInAndOn(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		one, other := database(t), ""
		if one == "" {
			other = e2etest.NewStore(t)
		}
		w := e2etest.NewTown(t, one)
		g := w.Start()
		for n, text := range []string{"hello", "/loops", "/remember I like herons",
			"/remind in 300 days feed the heron"} {
			w.Telegram.Say(e2etest.Ada, text)
			w.Sent(e2etest.Ada, n+1)
		}
		user := w.Member()
		for format, dir := range map[string]string{"openwebui": "chats", "librechat": "flat", "hermes": "lines",
			"openclaw": "folder", "letta": "agent"} {
			archive := filepath.Join("..", "..", "core", "archive", "importer", "testdata", format, dir)
			archive, err := filepath.Abs(archive)
			e2etest.Must(t, err)
			dry := w.MustRun("import", format, archive, "--user", user, "--dry-run")
			if !strings.Contains(dry, "for the memory") || !strings.Contains(dry, "left out:") {
				t.Errorf("%s: %s", format, dry)
			}
			var out importJSON
			e2etest.Must(t, json.Unmarshal([]byte(w.MustRun("import", format, archive, "--user", user, "--json")), &out))
			if out.Result.Imported == 0 || out.Result.Imported != out.Found.Messages {
				t.Errorf("%s: %+v", format, out)
			}
			e2etest.Must(t, json.Unmarshal([]byte(w.MustRun("import", format, archive, "--user", user, "--json")), &out))
			if out.Result.Imported != 0 {
				t.Errorf("%s again: %+v", format, out)
			}
		}
		for n, ask := range []struct{ text, answer string }{{"/search hostas", "Ferns and hostas."}, {"/search linden tide", "Friday"},
			{"/memory", "Open WebUI"}, {"/memory Marisol", "Marisol"}, {"/memory Otto", "Her dog is Otto."}} {
			w.Telegram.Say(e2etest.Ada, ask.text)
			if got := w.Sent(e2etest.Ada, n+5)[n+4].Text; !strings.Contains(got, ask.answer) {
				t.Errorf("%s: %q", ask.text, got)
			}
		}
		g.Stop()
		file := filepath.Join(t.TempDir(), "export.zip")
		digest := content(t, w.MustRun("export", "--user", user, "--out", file))
		moved := e2etest.NewTown(t, other)
		moved.Start().Stop()
		if got := content(t, moved.MustRun("import", "jsonl", file, "--dry-run")); got != digest {
			t.Errorf("digest of the import %s, want %s", got, digest)
		}
		moved.MustRun("import", "jsonl", file)
		back := filepath.Join(t.TempDir(), "back.zip")
		if got := content(t, moved.MustRun("export", "--out", back)); got != digest {
			t.Errorf("digest of the other engine's export %s, want %s", got, digest)
		}
	})
}

// content returns the digest that a command prints.
func content(t *testing.T, said string) string {
	t.Helper()
	m := regexp.MustCompile(`Content ([0-9a-f]{64})\.`).FindStringSubmatch(said)
	if m == nil {
		t.Fatalf("no digest in %q", said)
	}
	return m[1]
}
