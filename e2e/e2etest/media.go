//go:build e2e

package e2etest

import (
	"encoding/base64"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/everthread/everthread/core"
)

// Picture is a PNG of one pixel.
var Picture, _ = base64.StdEncoding.DecodeString(
	"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")

func Photo(id string) []any {
	return []any{map[string]any{"file_id": "small", "file_unique_id": "s", "width": 1, "height": 1},
		map[string]any{"file_id": id, "file_unique_id": id, "width": 90, "height": 90, "file_size": len(Picture)}}
}

// Kept lists the files below the media folder, with their contents.
func (w *Town) Kept() map[string][]byte {
	w.T.Helper()
	out := map[string][]byte{}
	root := filepath.Join(w.Dir, "media")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, _ := filepath.Rel(root, path)
		out[name], err = os.ReadFile(path)
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		w.T.Fatal(err)
	}
	return out
}

// Fetched waits until all downloads and removals are done.
func (l *Ledger) Fetched(g *Gateway) {
	l.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); l.Count(
		`SELECT COUNT(*) FROM jobs WHERE (queue LIKE 'fetch%' OR queue = 'remove') AND state <> 'dead'`) > 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			l.t.Fatalf("downloads or removals are left: %v\n%s", l.Lines(`SELECT key || ' ' || state || ' ' || error FROM jobs`), g.Log)
		}
	}
}

type attachment struct {
	Kind, Path, Error string
	Problem           core.FileProblem
}

// Attachments of all messages, in order.
func (l *Ledger) Attachments() []attachment {
	l.t.Helper()
	var out []attachment
	for _, extra := range l.Lines(`SELECT extra FROM messages WHERE role = 'user' ORDER BY id`) {
		var e struct{ Files []attachment }
		Must(l.t, json.Unmarshal([]byte(extra), &e))
		out = append(out, e.Files...)
	}
	return out
}

func Names(files map[string][]byte) []string {
	var out []string
	for name := range files {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}
