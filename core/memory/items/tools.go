package items

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/text"
)

// Tools returns memory_search, memory_add, memory_get, memory_archive and memory_list_themes.
func (m *Memory) Tools() []core.Tool {
	return []core.Tool{
		core.NewTool("memory_search",
			`Search lasting facts, preferences and instructions about the user. "*" returns the newest.`,
			`{"type":"object","properties":{"query":{"type":"string","description":"words, or * for the newest"},`+
				`"limit":{"type":"integer","description":"results: 10, at most 50"},"theme":{"type":"string","description":"only this theme"},`+
				`"types":{"type":"array","items":{"type":"string","enum":["preference","fact","instruction","summary","other"]},"description":"only these"},`+
				`"recency_days":{"type":"integer","description":"only the last so many days"},`+
				`"status":{"type":"string","enum":["active","archived","any"],"description":"active unless given"}},"required":["query"]}`, m.searchTool),
		core.NewTool("memory_add",
			"Keep one lasting statement about the user. Returns its id, and items that say nearly the same. "+
				"Use it when they ask you to remember something, or for what is clearly lasting and not sensitive.",
			`{"type":"object","properties":{"type":{"type":"string","enum":["preference","fact","instruction","summary","other"],"description":"what it is"},`+
				`"content":{"type":"string","description":"one sentence that stands alone"},"theme":{"type":"string","description":"general unless given"},`+
				`"tags":{"type":"array","items":{"type":"string"},"description":"a few words"}},"required":["type","content"]}`, m.addTool),
		core.NewTool("memory_get",
			"Read one item in full, with its source. Use it when a snippet is cut.",
			`{"type":"object","properties":{"item_id":{"type":"integer","description":"from memory_search"}},"required":["item_id"]}`, m.getTool),
		core.NewTool("memory_archive",
			"Archive an item that no longer holds. It is no longer found. Use it after you add what replaces it.",
			`{"type":"object","properties":{"item_id":{"type":"integer","description":"from memory_search"}},"required":["item_id"]}`, m.archiveTool),
		core.NewTool("memory_list_themes",
			"List the themes of memory, with the number of active items of each. Use it to choose a theme.",
			`{"type":"object","properties":{}}`, m.themesTool),
	}
}

// number is a whole number. Some models write it as a string. Unlike core.Number its error repeats the argument.
type number int64

// UnmarshalJSON reads 7, "7" or null.
func (n *number) UnmarshalJSON(b []byte) error {
	var v int64
	if err := json.Unmarshal([]byte(strings.Trim(string(b), `"`)), &v); err != nil {
		return fmt.Errorf("%s is not a whole number", text.Shorten(string(b), 40))
	}
	*n = number(v)
	return nil
}

// list is a list of texts. Some models write a single one without brackets.
type list []string

// UnmarshalJSON reads ["a", "b"], "a" or null.
func (l *list) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		*l = nil
		if one != "" {
			*l = list{one}
		}
		return nil
	}
	return json.Unmarshal(b, (*[]string)(l))
}

type searchAnswer struct {
	Results []resultJSON `json:"results"`
	Mode    string       `json:"mode"`
	Note    string       `json:"note,omitempty"`
}

type resultJSON struct {
	ID      core.ItemID   `json:"id"`
	Theme   string        `json:"theme"`
	Type    core.ItemType `json:"type"`
	Snippet string        `json:"content_snippet"`
	Status  string        `json:"status,omitempty"` // if it is not active
	Created string        `json:"created_at"`
	Foreign bool          `json:"foreign,omitempty"` // it contains foreign words
	Score   float64       `json:"score"`
	Signals signalsJSON   `json:"signals"`
}

type signalsJSON struct {
	FTS      bool `json:"fts"`
	Semantic bool `json:"semantic"`
}

// searchTool searches.
func (m *Memory) searchTool(ctx context.Context, use core.ToolUse, in struct {
	Query   string `json:"query"`
	Limit   number `json:"limit"`
	Theme   string `json:"theme"`
	Types   list   `json:"types"`
	Recency number `json:"recency_days"`
	Status  string `json:"status"`
}) (core.ToolResult, error) {
	f, err := m.Search(ctx, Query{User: use.User, Words: in.Query, Theme: in.Theme, Types: in.Types, Status: in.Status,
		Recency: int(in.Recency), Limit: int(in.Limit), Now: use.Now})
	if err != nil {
		return core.ToolResult{}, plain("search memory", err)
	}
	out := searchAnswer{Results: []resultJSON{}, Mode: f.Mode, Note: f.Note}
	for _, h := range f.Hits {
		out.Results = append(out.Results, result(h, snippetLength(len(f.Hits)), use))
	}
	if len(f.Hits) == 0 {
		out.Note = strings.TrimSpace("nothing in memory matches; " + f.Note)
		out.Note = strings.TrimSuffix(out.Note, ";")
	}
	return core.TaintedResult(out, slices.ContainsFunc(f.Hits, func(h Hit) bool { return h.Tainted }))
}

func result(h Hit, length int, use core.ToolUse) resultJSON {
	r := resultJSON{ID: h.ID, Theme: h.Theme, Type: h.Type, Snippet: text.Shorten(h.Content, length),
		Created: core.Stamp(h.CreatedAt, use.Location), Foreign: h.Tainted, Score: float64(int(h.Score*1000+0.5)) / 1000,
		Signals: signalsJSON{h.FTS, h.Semantic}}
	if h.Status != core.ItemActive {
		r.Status = string(h.Status)
	}
	return r
}

// snippetLength returns the length of snippets, shorter for many items.
func snippetLength(items int) int {
	switch {
	case items <= 10:
		return 240
	case items <= 25:
		return 120
	}
	return 80
}

// plain returns a refusal as it is, and wraps any other error with the operation.
func plain(op string, err error) error {
	if errors.Is(err, core.ErrRefused) {
		return err
	}
	return fmt.Errorf("%s: %w", op, err)
}

type addAnswer struct {
	ID        core.ItemID         `json:"id"`
	Status    string              `json:"status"` // added or exists
	Theme     string              `json:"theme"`
	Embedding core.EmbeddingState `json:"embedding,omitempty"`
	Hint      string              `json:"hint,omitempty"`
	Similar   []similarJSON       `json:"similar,omitempty"`
}

type similarJSON struct {
	ID      core.ItemID `json:"id"`
	Snippet string      `json:"content_snippet"`
}

// addTool adds an item, unless an active one has the same meaning.
func (m *Memory) addTool(ctx context.Context, use core.ToolUse, in struct {
	Type    string `json:"type"`
	Content string `json:"content"`
	Theme   string `json:"theme"`
	Tags    list   `json:"tags"`
}) (core.ToolResult, error) {
	i := core.Item{User: use.User, Theme: in.Theme, Type: core.ItemType(in.Type), Content: in.Content, Tags: in.Tags,
		SourceThread: use.Thread, Noted: true}
	if n := len(use.Inputs); n > 0 {
		i.SourceMessage = use.Inputs[n-1]
	}
	a, err := m.Add(ctx, i, use.Now)
	if err != nil {
		return core.ToolResult{}, plain("add to memory", err)
	}
	if a.Effect == nil {
		return core.ResultOf(addAnswer{ID: a.Item.ID, Status: "exists", Theme: a.Item.Theme,
			Hint: "an active item says this already; nothing was changed"})
	}
	out := addAnswer{ID: a.Item.ID, Status: "added", Theme: a.Item.Theme, Embedding: a.Item.Embedding}
	for _, s := range a.Near {
		out.Hint = "these say nearly the same: archive those that no longer hold"
		out.Similar = append(out.Similar, similarJSON{s.ID, text.Shorten(s.Content, 120)})
	}
	return core.TaintedResult(out, slices.ContainsFunc(a.Near, func(i core.Item) bool { return i.Tainted }), *a.Effect)
}

// getTool returns an item.
func (m *Memory) getTool(ctx context.Context, use core.ToolUse, _ core.NoArguments) (core.ToolResult, error) {
	i, err := m.named(ctx, use)
	if err != nil {
		return core.ToolResult{}, err
	}
	return core.TaintedResult(i.View(use.Location), i.Tainted)
}

// named returns the item that a call names. The error is the same for an unknown item and for another user's.
func (m *Memory) named(ctx context.Context, use core.ToolUse) (core.Item, error) {
	var in struct {
		ID number `json:"item_id"`
	}
	if err := use.Read(&in); err != nil {
		return core.Item{}, err
	}
	i, err := m.Store.Item(ctx, use.User, core.ItemID(in.ID))
	switch {
	case errors.Is(err, core.ErrNotFound):
		return i, fmt.Errorf("there is no item %d; memory_search finds items and their ids", in.ID)
	case err != nil:
		return i, fmt.Errorf("get item: %w", err)
	}
	return i, nil
}

// archiveTool archives an item. An archived one stays archived.
func (m *Memory) archiveTool(ctx context.Context, use core.ToolUse, _ core.NoArguments) (core.ToolResult, error) {
	i, err := m.named(ctx, use)
	if err != nil {
		return core.ToolResult{}, err
	}
	var effects []core.Effect
	if i.Status == core.ItemActive {
		effects = []core.Effect{effect.ArchiveItem{Item: i.ID, At: use.Now, Text: i.Content}}
	}
	return core.ResultOf(map[string]any{"id": i.ID, "status": core.ItemArchived}, effects...)
}

type themeJSON struct {
	Slug   string `json:"slug"`
	Name   string `json:"display_name"`
	Active int    `json:"active_items"`
}

// listedThemes bounds the themes that are listed.
const listedThemes = 100

// themesTool lists themes, those with most active items first.
func (m *Memory) themesTool(ctx context.Context, use core.ToolUse, _ core.NoArguments) (core.ToolResult, error) {
	themes, err := m.Store.Themes(ctx, use.User, listedThemes)
	if err != nil {
		return core.ToolResult{}, fmt.Errorf("list themes: %w", err)
	}
	out := []themeJSON{}
	for _, x := range themes {
		out = append(out, themeJSON{x.Slug, x.Name, x.Active})
	}
	tainted := slices.ContainsFunc(themes, func(x core.Theme) bool { return x.Tainted })
	return core.TaintedResult(map[string]any{"themes": out}, tainted)
}
