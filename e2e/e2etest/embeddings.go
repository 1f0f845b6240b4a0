//go:build e2e

package e2etest

import (
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"testing"
)

const (
	Towed   = "My car would not start beside the lake this morning and it had to be towed"
	Soup    = "Leek soup again, and nobody wanted to stir it while it came to the boil"
	Tax     = "I declared the taxes at last, in the office, after two hours of waiting"
	Waiting = `SELECT COUNT(*) FROM embeddings WHERE state <> 'ready'`
	Ready   = `SELECT COUNT(*) FROM embeddings WHERE state = 'ready'`
)

// ThreeDays has Ada talk about something else on each of three days, up to the fourth, as
// a day is embedded when it is over.
func (w *Week) ThreeDays(l *Ledger, g *Gateway, texts ...string) {
	w.T.Helper()
	for _, text := range texts {
		w.Ask(text)
		w.Ask("thank you")
		w.Settle(l, g)
		w.Set(w.Now().AddDate(0, 0, 1))
		l.Until(`SELECT COUNT(*) FROM segments WHERE state = 'open'`, 0, g)
	}
}

type SearchJSON struct {
	Mode    string `json:"mode"`
	Note    string `json:"note"`
	Results []struct {
		Kind    string `json:"kind"`
		Snippet string `json:"snippet"`
	} `json:"results"`
}

// Search searches from the command line, which stores nothing that could be found.
func (w *Week) Search(query string) (out SearchJSON) {
	w.T.Helper()
	Must(w.T, json.Unmarshal([]byte(w.MustRun("search", "--user", "Ada", "--json", query)), &out))
	return out
}

// First returns the first message found, or the one that it echoes.
func (s SearchJSON) First() string {
	for _, r := range s.Results {
		if r.Kind == "message" {
			return strings.TrimPrefix(r.Snippet, "echo: ")
		}
	}
	return ""
}

// Rebuild recomputes all vectors, after their number was reported.
func (w *Week) Rebuild(t *testing.T) {
	t.Helper()
	out, err := w.Run("embeddings", "rebuild")
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 2 || !strings.Contains(err.Error(), " 4 vectors") {
		t.Errorf("not asked for a yes: %q, %v", out, err)
	}
	if n := w.Ledger().Count(Waiting); n != 0 {
		t.Errorf("without a yes %d wait", n)
	}
	if out := w.MustRun("embeddings", "rebuild", "--yes"); !strings.Contains(out, "4 texts are waiting") {
		t.Errorf("got %q", out)
	}
}
