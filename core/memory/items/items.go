// Package items manages durable knowledge about a user: statements in themes, independent of
// the conversation. The model and people add, find and archive them. The model changes and
// deletes nothing: it corrects an item by adding another and archiving the old one. A person
// may correct an item, which keeps its earlier wordings, and delete it for good.
//
// Changes are returned as effects and committed with the reply, or with the answer to a command.
package items

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/search"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/text"
)

// Signals finds the candidates of a search by words and by meaning. An unavailable signal is
// left out, and ItemSignals says why.
type Signals interface {
	Items(ctx context.Context, user core.UserID, query string) (search.ItemSignals, error)
}

// Store stores memory.
type Store interface{ store.MemoryStore }

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

// Memory reads and prepares changes of users' memory. It is safe for concurrent use.
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
// the numbers of these, but no content. It has at most 1,024 bytes: a longer
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
		if len(h.Themes) == active-1 && active <= hintThemes && len(core.DataLine(longer)) <= hintBytes {
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

// Added is the result of Add.
type Added struct {
	Effect *effect.AddItem // nil: Item has the same meaning, and nothing changes
	Item   core.Item       // the new one with its id, or the existing one
	Near   []core.Item     // active ones of the theme with nearly the same meaning
}

// Add prepares a new item with User and Content. A missing Theme is core.DefaultTheme, a missing Type core.ItemFact;
// Tags and the source are optional. A refusal wraps core.ErrRefused.
func (m *Memory) Add(ctx context.Context, i core.Item, now time.Time) (Added, error) {
	name := text.OneLine(text.Clean(i.Theme))
	i, err := complete(i, now)
	if err != nil {
		return Added{}, err
	}
	digest := text.Digest(i.Content)
	same, err := m.Store.SameItem(ctx, i.User, digest)
	if err == nil {
		return Added{Item: same}, nil
	}
	if !errors.Is(err, core.ErrNotFound) {
		return Added{}, err
	}
	near, err := m.near(ctx, i)
	if err != nil {
		return Added{}, err
	}
	config, err := m.embed(ctx, i.User)
	if err != nil {
		return Added{}, err
	}
	id, err := m.Store.NewID(ctx, i.User)
	if err != nil {
		return Added{}, err
	}
	i.ID = core.ItemID(id)
	if config != "" {
		i.Embedding = core.EmbeddingPending
	}
	theme := core.Theme{User: i.User, Slug: i.Theme, Name: text.Shorten(cmp.Or(name, i.Theme), maxSlug), CreatedAt: now,
		UpdatedAt: now}
	return Added{Effect: &effect.AddItem{Item: i, Digest: digest, Theme: theme, Embed: config, At: now},
		Item: i, Near: near}, nil
}

// Edit prepares a correction of an item by the person; see effect.EditItem. A refusal wraps
// core.ErrRefused; a missing item is core.ErrNotFound.
func (m *Memory) Edit(ctx context.Context, user core.UserID, id core.ItemID, content string,
	now time.Time) (effect.EditItem, error) {
	if _, err := m.Store.Item(ctx, user, id); err != nil {
		return effect.EditItem{}, err
	}
	content = text.Clean(content)
	if err := checkContent(content); err != nil {
		return effect.EditItem{}, err
	}
	config, err := m.embed(ctx, user)
	return effect.EditItem{Item: id, Content: content, Digest: text.Digest(content), Embed: config, At: now}, err
}

// Keep prepares an item for a person; see Add. add is nil if same has the same meaning.
func (m *Memory) Keep(ctx context.Context, i core.Item, now time.Time) (add *effect.AddItem, same core.Item, err error) {
	a, err := m.Add(ctx, i, now)
	if err != nil || a.Effect != nil {
		return a.Effect, core.Item{}, err
	}
	return nil, a.Item, nil
}

func (m *Memory) embed(ctx context.Context, user core.UserID) (string, error) {
	if m.Embed == nil {
		return "", nil
	}
	return m.Embed.Name(ctx, user)
}

// complete returns a new item as it is stored.
func complete(i core.Item, now time.Time) (core.Item, error) {
	var err error
	if i.Theme, err = Slug(i.Theme); err != nil {
		return i, err
	}
	if i.Type, err = itemType(string(cmp.Or(i.Type, core.ItemFact))); err != nil {
		return i, err
	}
	i.Content = text.Clean(i.Content)
	if err := checkContent(i.Content); err != nil {
		return i, err
	}
	if i.Tags, err = checkTags(i.Tags); err != nil {
		return i, err
	}
	i.ID, i.Status, i.CreatedAt, i.UpdatedAt = 0, core.ItemActive, now, now
	return i, nil
}

func checkContent(s string) error {
	if n := utf8.RuneCountInString(s); n > maxContent {
		return core.Refuse("content has %d characters; at most %d fit: keep the essence", n, maxContent)
	}
	if !strings.ContainsFunc(s, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
		return core.Refuse("content has no words; write one statement")
	}
	return nil
}

func checkTags(tags []string) ([]string, error) {
	var out []string
	for _, t := range tags {
		t = text.OneLine(text.Clean(t))
		if t == "" || slices.Contains(out, t) {
			continue
		}
		if utf8.RuneCountInString(t) > maxTag {
			return nil, core.Refuse("a tag has at most %d characters", maxTag)
		}
		out = append(out, t)
	}
	if len(out) > maxTags {
		return nil, core.Refuse("there are %d tags; at most %d fit", len(out), maxTags)
	}
	return out, nil
}

// near returns the newest active items of the same theme with nearly the same meaning.
func (m *Memory) near(ctx context.Context, i core.Item) ([]core.Item, error) {
	const looked, told = 200, 3
	words := contentWords(i.Content)
	items, err := m.Store.Items(ctx, store.ItemQuery{User: i.User, Theme: i.Theme, Status: core.ItemActive, Limit: looked})
	var out []core.Item
	for _, other := range items {
		if len(out) < told && alike(words, contentWords(other.Content)) {
			out = append(out, other)
		}
	}
	return out, err
}

// Limits of items.
const (
	maxContent = 2000 // characters
	maxSlug    = 64   // bytes
	maxTags    = 10
	maxTag     = 40 // characters
)

// Slug returns the slug of a theme: lower case, without accents, dashes between words, at most 64 bytes;
// core.DefaultTheme for a blank one. It refuses a longer theme and one without letters or digits with core.ErrRefused.
func Slug(theme string) (string, error) {
	if strings.TrimSpace(theme) == "" {
		return core.DefaultTheme, nil
	}
	words := strings.FieldsFunc(text.Fold(theme), func(r rune) bool { return !text.IsWord(r) })
	slug := strings.Join(words, "-")
	switch {
	case slug == "":
		return "", core.Refuse("theme has no letters or digits; use a word such as work or travel")
	case len(slug) > maxSlug:
		return "", core.Refuse("theme is too long: at most %d bytes, such as work or home-improvement", maxSlug)
	}
	return slug, nil
}

// alike reports whether two statements share three in five of their content words: one may then replace the other.
func alike(a, b map[string]bool) bool {
	both := 0
	for w := range a {
		if b[w] {
			both++
		}
	}
	return both >= 2 && 5*both >= 3*(len(a)+len(b)-both)
}

// contentWords returns the words of a statement that are not small.
func contentWords(content string) map[string]bool {
	out := map[string]bool{}
	for _, w := range text.Words(content) {
		if utf8.RuneCountInString(w) > 1 && !smallWords(w) {
			out[text.Stem(w)] = true
		}
	}
	return out
}

// smallWords have little meaning.
var smallWords = text.OneOf("memory", "small")
