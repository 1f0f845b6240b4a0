package settings

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/everthread/everthread/adapters/web"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/memory/items"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/text/i18n"
)

const itemsShown, themesShown, memoryPages = 50, 200, 10_000

func (r *Room) memoryRoutes() []web.Route {
	return []web.Route{
		{Pattern: "GET /memory", Serve: r.memoryPage, Tab: &web.Tab{
			Name: func(lang string) string { return say(lang).Memory.Title }, Key: "m"}},
		{Pattern: "POST /memory", Serve: r.addItem},
		{Pattern: "POST /memory/{id}/archive", Serve: r.ofItem(r.archiveItem)},
		{Pattern: "POST /memory/{id}/restore", Serve: r.ofItem(r.restoreItem)},
		{Pattern: "POST /memory/{id}/edit", Serve: r.ofItem(r.editItem)},
		{Pattern: "POST /memory/{id}/delete", Serve: r.ofItem(r.deleteItem)},
	}
}

// memoryQuery is the filter of the memory page, as the URL states it.
type memoryQuery struct {
	Words, Theme, Type string
	Archived           bool
	Page               int // from 1
}

func (r *Room) memoryQuery(v *web.Visit) (memoryQuery, error) {
	f := v.R.URL.Query()
	q := memoryQuery{Words: strings.TrimSpace(f.Get("q")), Theme: web.Short(f.Get("theme"), 200),
		Type: web.Short(f.Get("type"), 40), Archived: f.Get("archived") != "", Page: 1}
	if n, err := strconv.Atoi(f.Get("page")); err == nil && n > 1 && n <= memoryPages {
		q.Page = n
	}
	return q, v.Within(500, q.Words)
}

// path returns the path of the page that answers the query.
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

func (q memoryQuery) narrowed() bool { return q.Words != "" || q.Theme != "" || q.Type != "" }

type memoryView struct {
	Query                      memoryQuery
	Path                       string
	Themes                     []shownTheme
	Types                      []choice
	Items                      []shownItem
	Noted                      []shownItem // noted by the assistant today
	How, Vectors, Newer, Older string
	Empty                      *web.Empty
	Add                        addedItem
	Known                      []core.Theme
	ItemTypes                  []choice
	Problem                    string
	Standing                   standingView
}

type choice struct {
	Value, Name, Hint string
	Here              bool
}

type shownTheme struct {
	Name, Count, Path string
	Here              bool
}

type addedItem struct{ Text, Theme, New, Type string }

type shownItem struct {
	ID                                              core.ItemID
	Content, Type, Theme, When, Source, State, Tags string
	Class                                           string // CSS class of State
	Archived                                        bool
	Foreign                                         bool // derived from words that the person did not write
	History                                         []wording
}

type wording struct{ Text, Until string }

// notedLooked is the number of newest items searched for those noted today.
const notedLooked = 200

// noted lists the items that the assistant noted today, newest first.
func (r *Room) noted(v *web.Visit, names map[string]string) ([]shownItem, error) {
	items, err := r.Memory.Items(v.Context(), store.ItemQuery{User: v.User.ID, Status: core.ItemActive,
		Since: v.Today.Start, Limit: notedLooked})
	if err != nil {
		return nil, fmt.Errorf("read today's memory: %w", err)
	}
	var out []shownItem
	for _, i := range items {
		if i.Noted {
			out = append(out, item(v, i, names))
		}
	}
	return out, nil
}

func (r *Room) memoryPage(v *web.Visit) error {
	q, err := r.memoryQuery(v)
	if err != nil {
		return err
	}
	return r.showMemory(v, http.StatusOK, q, newItem(), "", standingView{})
}

func newItem() addedItem { return addedItem{Theme: core.DefaultTheme, Type: string(core.ItemFact)} }

// showMemory shows the memory page, with the problem of a refused form, if any.
func (r *Room) showMemory(v *web.Visit, status int, q memoryQuery, form addedItem, problem string,
	always standingView) error {
	themes, err := r.Memory.Themes(v.Context(), v.User.ID, themesShown)
	if err != nil {
		return fmt.Errorf("read themes: %w", err)
	}
	page := memoryView{Query: q, Path: q.path(), Add: form, Problem: problem, Known: themes, Standing: always}
	if len(themes) == 0 {
		page.Known = []core.Theme{{Slug: core.DefaultTheme, Name: core.DefaultTheme}}
	}
	listThemes(v, &page, themes)
	for _, t := range items.Types() {
		page.Types = append(page.Types, choice{Value: string(t), Name: v.Words.Types[string(t)], Here: string(t) == q.Type})
		page.ItemTypes = append(page.ItemTypes, choice{Value: string(t), Name: v.Words.Types[string(t)],
			Here: string(t) == form.Type})
	}
	if err := r.listItems(v, &page, themes); err != nil {
		return err
	}
	if !q.narrowed() && !q.Archived && q.Page == 1 {
		if err := page.Standing.fill(v, r, "/memory"); err != nil {
			return err
		}
		if page.Noted, err = r.noted(v, themeNames(themes)); err != nil {
			return err
		}
	}
	if page.Vectors, err = r.vectors(v); err != nil {
		return err
	}
	return v.Render(status, "memory", say(v.Lang).Memory.Title, page)
}

func listThemes(v *web.Visit, page *memoryView, themes []core.Theme) {
	all := page.Query
	all.Theme, all.Page = "", 1
	total := 0
	for _, t := range themes {
		total += t.Active
		one := page.Query
		one.Theme, one.Page = t.Slug, 1
		page.Themes = append(page.Themes, shownTheme{t.Name, i18n.Number(v.Lang, t.Active), one.path(),
			t.Slug == page.Query.Theme})
	}
	page.Themes = append([]shownTheme{{say(v.Lang).Memory.AllThemes, i18n.Number(v.Lang, total), all.path(),
		page.Query.Theme == ""}}, page.Themes...)
}

// listItems reads the requested items: the best matches of a search, or else a page of the newest.
func (r *Room) listItems(v *web.Visit, page *memoryView, themes []core.Theme) error {
	q := page.Query
	var items []core.Item
	var err error
	if q.Words != "" {
		items, page.How, err = r.foundItems(v, q)
	} else {
		items, err = r.newestItems(v, q)
	}
	if errors.Is(err, core.ErrRefused) {
		err = core.ErrNotFound // an unknown filter
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
	names := themeNames(themes)
	page.Items = web.Each(items, func(i core.Item) shownItem { return item(v, i, names) })
	if len(page.Items) == 0 {
		page.Empty = noItems(v, q)
	}
	return nil
}

func themeNames(themes []core.Theme) map[string]string {
	names := map[string]string{}
	for _, t := range themes {
		names[t.Slug] = t.Name
	}
	return names
}

func noItems(v *web.Visit, q memoryQuery) *web.Empty {
	w := say(v.Lang).Memory
	if q.narrowed() || q.Page > 1 {
		return &web.Empty{Title: w.NoneFound, Hint: w.NoneFoundHint, Link: "/memory", Label: w.ShowAll}
	}
	return &web.Empty{Title: w.None, Hint: w.NoneHint}
}

func (r *Room) foundItems(v *web.Visit, q memoryQuery) ([]core.Item, string, error) {
	ask := items.Query{User: v.User.ID, Words: q.Words, Theme: q.Theme, Status: "active", Limit: itemsShown, Now: v.Now}
	if q.Archived {
		ask.Status = "any"
	}
	if q.Type != "" {
		ask.Types = []string{q.Type}
	}
	found, err := r.Memory.Search(v.Context(), ask)
	if err != nil {
		return nil, "", fmt.Errorf("search memory: %w", err)
	}
	out := web.Each(found.Hits, func(h items.Hit) core.Item { return h.Item })
	return out, v.Words.SearchMode[found.Mode], nil
}

func (r *Room) newestItems(v *web.Visit, q memoryQuery) ([]core.Item, error) {
	ask := store.ItemQuery{User: v.User.ID, Theme: q.Theme, Status: core.ItemActive, Skip: (q.Page - 1) * itemsShown,
		Limit: itemsShown + 1}
	if q.Archived {
		ask.Status = ""
	}
	if q.Type != "" {
		ask.Types = []core.ItemType{core.ItemType(q.Type)}
	}
	items, err := r.Memory.Items(v.Context(), ask)
	if err != nil {
		return nil, fmt.Errorf("read memory: %w", err)
	}
	return items, nil
}

func item(v *web.Visit, i core.Item, themes map[string]string) shownItem {
	s := shownItem{ID: i.ID, Content: i.Content, Type: v.Words.Types[string(i.Type)],
		Theme: cmp.Or(themes[i.Theme], i.Theme), When: v.Moment(i.CreatedAt), Tags: strings.Join(i.Tags, ", "),
		Archived: i.Status == core.ItemArchived, Foreign: i.Tainted}
	for _, w := range slices.Backward(i.History) {
		s.History = append(s.History, wording{w.Content, fmt.Sprintf(say(v.Lang).Memory.Until, v.Moment(w.Until))})
	}
	if i.SourceMessage != 0 {
		s.Source = fmt.Sprintf("/m/%d", i.SourceMessage)
	}
	switch {
	case i.Embedding == core.EmbeddingPending:
		s.State, s.Class = say(v.Lang).Memory.Waiting, "quiet"
	case i.Embedding == core.EmbeddingReady && !s.Archived:
		s.State, s.Class = say(v.Lang).Memory.Ready, "quiet"
	case i.Embedding == core.EmbeddingError:
		s.State, s.Class = say(v.Lang).Memory.Failed, "bad"
	}
	return s
}

// vectors describes the state of a person's vectors, or states that there are none.
func (r *Room) vectors(v *web.Visit) (string, error) {
	config, err := r.Embeddings.Name(v.Context(), v.User.ID)
	if err != nil || config == "" {
		return say(v.Lang).Memory.NoVectors, nil //nolint:nilerr // the settings report the error
	}
	n, err := r.Store.EmbeddingCounts(v.Context(), v.User.ID, config)
	if err != nil {
		return "", fmt.Errorf("count vectors: %w", err)
	}
	w := say(v.Lang).Memory
	said := []string{fmt.Sprintf(w.VectorsReady, i18n.Number(v.Lang, n[string(core.EmbeddingReady)]))}
	if k := n[string(core.EmbeddingPending)] + n["stale"]; k > 0 {
		said = append(said, fmt.Sprintf(w.VectorsWaiting, i18n.Number(v.Lang, k)))
	}
	if k := n[string(core.EmbeddingError)]; k > 0 {
		said = append(said, fmt.Sprintf(w.VectorsFailed, i18n.Number(v.Lang, k)))
	}
	out := w.Vectors + " " + strings.Join(said, ", ") + "."
	faults, err := r.Store.EmbeddingFaults(v.Context(), v.User.ID)
	if err != nil {
		return "", fmt.Errorf("read embedding errors: %w", err)
	}
	for _, f := range faults {
		out += " " + fmt.Sprintf(w.VectorsFault, i18n.Number(v.Lang, f.Count), f.Reason)
	}
	return out, nil
}
