//go:build e2e

package e2etest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/chat/compress/compresstest"
	"github.com/everthread/everthread/core/llm/tokens"
	"github.com/everthread/everthread/core/store"
)

// AYear writes a year of conversation as JSON Lines.
func AYear(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "messages.jsonl")
	f, err := os.Create(file)
	Must(t, err)
	out := json.NewEncoder(f)
	for _, m := range compresstest.Year(1, nil) {
		Must(t, out.Encode(map[string]any{"role": m.Role, "text": m.Text, "sent_at": m.SentAt}))
	}
	Must(t, f.Close())
	return file
}

// ShownTurn is the output of `everthread turns show --json --prompt`.
type ShownTurn struct {
	ID       int64               `json:"turn_id"`
	Snapshot store.Snapshot      `json:"context"`
	Prompt   []core.ModelMessage `json:"prompt"`
}

// LastTurn returns a user's newest turn, with its prompt.
func (w *Town) LastTurn(l *Ledger, user string) (out ShownTurn) {
	w.T.Helper()
	id := l.Count(`SELECT MAX(id) FROM turns WHERE state = 'done'`)
	Must(w.T, json.Unmarshal([]byte(w.MustRun("turns", "show", fmt.Sprint(id), "--user", user, "--prompt", "--json")),
		&out))
	return out
}

// WholeYear describes the parts of the year in a prompt.
func (w *Town) WholeYear(turn ShownTurn) {
	w.T.Helper()
	s := turn.Snapshot
	counter, total, text := tokens.New(), 0, strings.Builder{}
	for _, m := range turn.Prompt {
		total += counter.Count(m.Content)
		text.WriteString(m.Content + "\n")
	}
	if s.History == nil || s.History.Pages == 0 || s.Total > s.Cap || total > s.Total {
		w.T.Fatalf("%d tokens; the snapshot says %+v", total, s)
	}
	h := s.History
	w.T.Logf("prompt of %d tokens of at most %d; history %+v", s.Total, s.Cap, *h)
	for _, p := range s.Parts {
		w.T.Logf("%-12s %6d", p.Name, p.Tokens)
	}
	if share := float64(h.UserTotal) / float64(s.Total); share < 0.6 {
		w.T.Errorf("the user's words are %.0f %% of the prompt", 100*share)
	}
	found, of := map[core.Role]int{}, map[core.Role]int{}
	for _, n := range compresstest.Needles() {
		of[n.Role]++
		if strings.Contains(text.String(), n.Words) {
			found[n.Role]++
		}
	}
	w.T.Logf("facts: %d of %d of the user's, %d of %d of the assistant's", found[core.RoleUser], of[core.RoleUser],
		found[core.RoleAssistant], of[core.RoleAssistant])
	if found[core.RoleUser]*100 < 95*of[core.RoleUser] || found[core.RoleAssistant]*100 < 80*of[core.RoleAssistant] {
		w.T.Error("too few facts can be read")
	}
}
