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
	"fmt"
	"slices"
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

// Bounds of the guidance.
const (
	hintBytes  = 1 << 10
	hintThemes = 10
)

// Guidance is the part of a prompt that explains the use of memory.
const Guidance = `# Memory
Lasting facts, preferences and instructions of the person are kept in memory. Nothing of it is shown here: look it up.
- memory_search finds items by words; the query * or an empty one returns the newest.
- It returns active items; status "any" includes archived ones.
- memory_get shows one item in full.
- memory_add keeps one statement; without a theme it goes to general.
- To correct an item, add the right one and memory_archive the wrong one.`

const (
	unavailable = "Memory tools are unavailable at the moment: proceed without them, and say so if it matters."
	empty       = "Memory is empty so far."
	more        = "memory_list_themes lists all"
)

// hints is the line of data with the themes of memory.
type hints struct {
	Is      string   `json:"is"`
	Foreign bool     `json:"foreign,omitempty"`
	Themes  []string `json:"themes,omitempty"`
	Text    string   `json:"text,omitempty"`
}

// Foreign reports whether foreign words went into the name of a theme with items.
func Foreign(themes []core.Theme) bool {
	return slices.ContainsFunc(themes, func(t core.Theme) bool { return t.Tainted && t.Active > 0 })
}

// Hints returns, as one line of data for a prompt, the ten themes with most active items and
// the numbers of these, but no content. With Guidance it has at most 1,024 bytes: a longer
// list is cut and refers to memory_list_themes. err is why the themes cannot be read, or nil.
func Hints(themes []core.Theme, err error) string {
	h := hints{Is: "themes of memory (active items)", Foreign: Foreign(themes)}
	active := 0
	for _, t := range themes {
		if t.Active <= 0 {
			continue
		}
		active++
		longer := h
		longer.Themes, longer.Text = append(h.Themes[:len(h.Themes):len(h.Themes)], fmt.Sprintf("%s (%d)", t.Slug, t.Active)),
			more
		if len(h.Themes) == active-1 && active <= hintThemes && len(Guidance)+len(core.DataLine(longer)) <= hintBytes {
			h.Themes = longer.Themes
		}
	}
	switch {
	case err != nil:
		h.Themes, h.Text = nil, unavailable
	case active == 0:
		h.Text = empty
	case len(h.Themes) < active:
		h.Text = more
	}
	return core.DataLine(h)
}
