package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/memory"
	"github.com/everthread/everthread/core/words"
)

// How much of memory a page shows.
const (
	itemsShown  = 50
	themesShown = 200
	memoryPages = 10_000
)

// Items is what the page of memory reads; see core/memory.
type Items interface {
	Items(ctx context.Context, q core.ItemQuery) ([]core.Item, error)
	Item(ctx context.Context, user core.UserID, id core.ItemID) (core.Item, error)
	Search(ctx context.Context, q memory.Query) (memory.Found, error)
}

func (c *Channel) memoryRoutes() []route {
	if c.Memory == nil || c.Items == nil {
		return nil
	}
	return []route{
		{Pattern: "GET /memory", Serve: (*visit).memoryPage, Tab: func(w *texts) string { return w.Memory.Title }},
		{Pattern: "POST /memory", Serve: (*visit).addItem},
		{Pattern: "POST /memory/{id}/archive", Serve: (*visit).archiveItem},
		{Pattern: "POST /memory/{id}/restore", Serve: (*visit).restoreItem},
	}
}

// memoryQuery is what a visitor wants to see of memory, as the address says it.
type memoryQuery struct {
	Words, Theme, Type string
	Archived           bool
	Page               int // from 1
}

func (v *visit) memoryQuery() memoryQuery {
	f := v.r.URL.Query()
	q := memoryQuery{Words: strings.TrimSpace(short(f.Get("q"), 500)), Theme: short(f.Get("theme"), 200),
		Type: short(f.Get("type"), 40), Archived: f.Get("archived") != "", Page: 1}
	if n, err := strconv.Atoi(f.Get("page")); err == nil && n > 1 && n <= memoryPages {
		q.Page = n
	}
	return q
}

// path is where a query is answered.
func (q memoryQuery) path() string {
	f := url.Values{}
	for name, value := range map[string]string{"q": q.Words, "theme": q.Theme, "type": q.Type} {
		if value != "" {
			f.Set(name, value)
		}
	}
	if q.Archived {
		f.Set("archived", "1")
	}
	if q.Page > 1 {
		f.Set("page", strconv.Itoa(q.Page))
	}
	if len(f) == 0 {
		return "/memory"
	}
	return "/memory?" + f.Encode()
}

// narrowed reports whether the query leaves something out.
func (q memoryQuery) narrowed() bool { return q.Words != "" || q.Theme != "" || q.Type != "" }

// memoryView is the page of memory.
type memoryView struct {
	Query        memoryQuery
	Path         string
	Themes       []shownTheme
	Types        []choice
	Items        []shownItem
	How, Vectors string
	Newer, Older string
	Empty        *emptiness
	Add          addedItem
	Known        []core.Theme
	ItemTypes    []choice
	Problem      string
}

// choice is one of several values of a form.
type choice struct {
	Value, Name, Hint string
	Here              bool
}

// shownTheme is a theme that the list can be narrowed to.
type shownTheme struct {
	Name, Count, Path string
	Here              bool
}

// addedItem is what stands in the form that adds an item.
type addedItem struct{ Text, Theme, New, Type string }

// shownItem is an item in the list.
type shownItem struct {
	ID                        core.ItemID
	Content, Type, Theme      string
	When, Source, State, Tags string
	Class                     string // of State
	Archived                  bool
	Foreign                   bool // words that the person did not write went into it
}

func (v *visit) memoryPage() error {
	return v.showMemory(http.StatusOK, v.memoryQuery(), addedItem{Theme: core.DefaultTheme, Type: string(core.ItemFact)},
		"")
}

// showMemory shows memory, with what was wrong with the form, if anything was.
func (v *visit) showMemory(status int, q memoryQuery, form addedItem, problem string) error {
	themes, err := v.Memory.Themes(v.ctx(), v.user.ID, themesShown)
	if err != nil {
		return fmt.Errorf("read themes: %w", err)
	}
	page := memoryView{Query: q, Path: q.path(), Add: form, Problem: problem, Known: themes}
	if len(themes) == 0 {
		page.Known = []core.Theme{{Slug: core.DefaultTheme, Name: core.DefaultTheme}}
	}
	v.listThemes(&page, themes)
	for _, t := range itemTypes() {
		page.Types = append(page.Types, choice{Value: string(t), Name: v.words.Types[string(t)], Here: string(t) == q.Type})
		page.ItemTypes = append(page.ItemTypes, choice{Value: string(t), Name: v.words.Types[string(t)],
			Here: string(t) == form.Type})
	}
	if err := v.listItems(&page, themes); err != nil {
		return err
	}
	if page.Vectors, err = v.vectors(); err != nil {
		return err
	}
	return v.render(status, "memory", v.words.Memory.Title, page)
}

func (v *visit) listThemes(page *memoryView, themes []core.Theme) {
	all := page.Query
	all.Theme, all.Page = "", 1
	total := 0
	for _, t := range themes {
		total += t.Active
		one := page.Query
		one.Theme, one.Page = t.Slug, 1
		page.Themes = append(page.Themes, shownTheme{t.Name, words.Number(v.lang, t.Active), one.path(),
			t.Slug == page.Query.Theme})
	}
	page.Themes = append([]shownTheme{{v.words.Memory.AllThemes, words.Number(v.lang, total), all.path(),
		page.Query.Theme == ""}}, page.Themes...)
}

// listItems reads the items that are asked for: by words the best, else a page of
// the newest.
func (v *visit) listItems(page *memoryView, themes []core.Theme) error {
	q := page.Query
	var items []core.Item
	var err error
	if q.Words != "" {
		items, page.How, err = v.foundItems(q)
	} else {
		items, err = v.newestItems(q)
	}
	if errors.Is(err, core.ErrRefused) {
		err = core.ErrNotFound // a filter that nobody was offered
	}
	if err != nil {
		return err
	}
	if q.Words == "" && len(items) > itemsShown {
		next := q
		next.Page++
		items, page.Older = items[:itemsShown], next.path()
	}
	if q.Page > 1 {
		next := q
		next.Page--
		page.Newer = next.path()
	}
	names := map[string]string{}
	for _, t := range themes {
		names[t.Slug] = t.Name
	}
	for _, i := range items {
		page.Items = append(page.Items, v.item(i, names))
	}
	if len(page.Items) == 0 {
		page.Empty = v.noItems(q)
	}
	return nil
}

func (v *visit) noItems(q memoryQuery) *emptiness {
	w := v.words.Memory
	if q.narrowed() || q.Page > 1 {
		return &emptiness{Title: w.NoneFound, Hint: w.NoneFoundHint, Link: "/memory", Label: w.ShowAll}
	}
	return &emptiness{Title: w.None, Hint: w.NoneHint}
}

func (v *visit) foundItems(q memoryQuery) ([]core.Item, string, error) {
	ask := memory.Query{User: v.user.ID, Words: q.Words, Theme: q.Theme, Status: "active", Limit: itemsShown, Now: v.now}
	if q.Archived {
		ask.Status = "any"
	}
	if q.Type != "" {
		ask.Types = []string{q.Type}
	}
	found, err := v.Items.Search(v.ctx(), ask)
	if err != nil {
		return nil, "", fmt.Errorf("search memory: %w", err)
	}
	var out []core.Item
	for _, h := range found.Hits {
		out = append(out, h.Item)
	}
	return out, v.words.SearchMode[found.Mode], nil
}

func (v *visit) newestItems(q memoryQuery) ([]core.Item, error) {
	ask := core.ItemQuery{User: v.user.ID, Theme: q.Theme, Status: core.ItemActive, Skip: (q.Page - 1) * itemsShown,
		Limit: itemsShown + 1}
	if q.Archived {
		ask.Status = ""
	}
	if q.Type != "" {
		ask.Types = []core.ItemType{core.ItemType(q.Type)}
	}
	items, err := v.Items.Items(v.ctx(), ask)
	if err != nil {
		return nil, fmt.Errorf("read memory: %w", err)
	}
	return items, nil
}

// item is an item as it is shown.
func (v *visit) item(i core.Item, themes map[string]string) shownItem {
	s := shownItem{ID: i.ID, Content: i.Content, Type: v.words.Types[string(i.Type)], Theme: themes[i.Theme],
		When: moment(v.lang, i.CreatedAt.In(v.zone)), Tags: strings.Join(i.Tags, ", "),
		Archived: i.Status == core.ItemArchived, Foreign: i.Tainted}
	if s.Theme == "" {
		s.Theme = i.Theme
	}
	if i.SourceMessage != 0 {
		s.Source = fmt.Sprintf("/m/%d", i.SourceMessage)
	}
	switch {
	case i.Embedding == core.EmbeddingPending:
		s.State, s.Class = v.words.Memory.Waiting, "quiet"
	case i.Embedding == core.EmbeddingReady && !s.Archived:
		s.State, s.Class = v.words.Memory.Ready, "quiet"
	case i.Embedding == core.EmbeddingError:
		s.State, s.Class = v.words.Memory.Failed, "bad"
	}
	return s
}

// vectors says how far the vectors of a person are; nothing where none are made.
func (v *visit) vectors() (string, error) {
	if v.Settings == nil || v.Settings.Embeddings == nil {
		return "", nil
	}
	config, err := v.Settings.Embeddings.Name(v.ctx(), v.user.ID)
	if err != nil || config == "" {
		return v.words.Memory.NoVectors, nil //nolint:nilerr // what is wrong is said where it can be mended
	}
	n, err := v.Settings.Store.EmbeddingCounts(v.ctx(), v.user.ID, config)
	if err != nil {
		return "", fmt.Errorf("count vectors: %w", err)
	}
	w := v.words.Memory
	said := []string{fmt.Sprintf(w.VectorsReady, words.Number(v.lang, n[string(core.EmbeddingReady)]))}
	if k := n[string(core.EmbeddingPending)] + n["stale"]; k > 0 {
		said = append(said, fmt.Sprintf(w.VectorsWaiting, words.Number(v.lang, k)))
	}
	if k := n[string(core.EmbeddingError)]; k > 0 {
		said = append(said, fmt.Sprintf(w.VectorsFailed, words.Number(v.lang, k)))
	}
	out := w.Vectors + " " + strings.Join(said, ", ") + "."
	faults, err := v.Settings.Store.EmbeddingFaults(v.ctx(), v.user.ID)
	if err != nil {
		return "", fmt.Errorf("read errors of vectors: %w", err)
	}
	for _, f := range faults {
		out += " " + fmt.Sprintf(w.VectorsFault, words.Number(v.lang, f.Count), f.Reason)
	}
	return out, nil
}
