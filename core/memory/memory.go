// Package memory manages durable knowledge about a user: statements in themes, independent of
// the conversation. The model and people add, find and archive them. The model changes and
// deletes nothing: it corrects an item by adding another and archiving the old one. A person
// may correct an item, which keeps its earlier wordings, and delete it for good.
//
// Changes are returned as effects and committed with the reply, or with the answer to a
// command.
package memory

import (
	"context"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
)

// Signals finds the candidates of a search by words and by meaning. An unavailable signal is
// left out, and ItemSignals says why.
type Signals interface {
	Items(ctx context.Context, user core.UserID, query string) (core.ItemSignals, error)
}

// Store stores memory.
type Store interface{ core.MemoryStore }

// Settings are the weights of the ranking. A zero value means the default beside it.
type Settings struct {
	SemanticWeight float64 // 0.7
	LexicalWeight  float64 // 0.3
	Candidates     int     // 50, of each signal
}

func (s Settings) orDefault() Settings {
	if s.SemanticWeight == 0 && s.LexicalWeight == 0 {
		s.SemanticWeight, s.LexicalWeight = 0.7, 0.3
	}
	if s.Candidates <= 0 {
		s.Candidates = 50
	}
	return s
}

// Memory reads and prepares changes of users' memory. It is safe for concurrent
// use.
type Memory struct {
	Store
	Signals  Signals
	Embed    core.Embedding // of new items; nil: they get no vectors
	Settings Settings
}

// Find returns the active items that match words, best first, and the mode of
// the search: hybrid, fts, or recent for no words.
func (m *Memory) Find(ctx context.Context, user core.UserID, words string, limit int,
	now time.Time) ([]core.Item, string, error) {
	f, err := m.Search(ctx, Query{User: user, Words: words, Status: string(core.ItemActive), Limit: limit, Now: now})
	var out []core.Item
	for _, h := range f.Hits {
		out = append(out, h.Item)
	}
	return out, f.Mode, err
}

// IsTool reports whether name is a tool of memory.
func IsTool(name string) bool { return strings.HasPrefix(name, "memory_") }
