package api

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/accounts/client"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/memory/items"
	"github.com/everthread/everthread/core/search"
	"github.com/everthread/everthread/core/text"
	"github.com/everthread/everthread/core/text/i18n"
)

// foundItems is the answer to a search, like that of memory_search.
type foundItems struct {
	Results []foundItem `json:"results"`
	Mode    string      `json:"mode"`
	Note    string      `json:"note,omitempty"`
}

type foundItem struct {
	ID      core.ItemID        `json:"id"`
	Theme   string             `json:"theme"`
	Type    core.ItemType      `json:"type"`
	Snippet string             `json:"content_snippet"`
	Status  core.ItemStatus    `json:"status"`
	Created string             `json:"created_at"`
	Foreign bool               `json:"foreign,omitempty"` // derived from words that the person did not write
	Score   float64            `json:"score"`
	Signals search.SignalsView `json:"signals"`
}

// snippetLength bounds the shown part of an item, in characters.
const snippetLength = 240

func (c *Server) memory(_ http.ResponseWriter, r *http.Request, who client.Caller) (int, any, error) {
	p := paramsOf(r, "query", "limit", "theme", "types", "recency_days", "status")
	q := items.Query{User: who.User.ID, Words: p.text("query"), Theme: p.text("theme"), Status: p.text("status"),
		Recency: int(p.number("recency_days", 1, maxDays)), Limit: p.limit(10, 50), Now: c.Now()}
	if types := p.text("types"); types != "" {
		q.Types = strings.Split(types, ",")
	}
	if len(q.Words) > maxQuery {
		p.fail("query must have at most %d bytes.", maxQuery)
	}
	if p.err != nil {
		return 0, nil, p.err
	}
	found, err := c.Memory.Search(r.Context(), q)
	if err != nil {
		return 0, nil, err
	}
	out := foundItems{Results: []foundItem{}, Mode: found.Mode, Note: found.Note}
	for _, h := range found.Hits {
		out.Results = append(out.Results, foundItem{h.ID, h.Theme, h.Type, text.Shorten(h.Content, snippetLength), h.Status,
			core.Stamp(h.CreatedAt, who.User.Settings.Location(c.Zone)), h.Tainted, search.Thousandths(h.Score),
			search.SignalsView{FTS: h.FTS, Semantic: h.Semantic}})
	}
	return http.StatusOK, out, nil
}

type newItem struct {
	Type    string   `json:"type"`
	Content *string  `json:"content"`
	Theme   string   `json:"theme"`
	Tags    []string `json:"tags"`
}

// keptItem is the answer to an addition, like that of memory_add.
type keptItem struct {
	ID        core.ItemID         `json:"id"`
	Status    string              `json:"status"` // added or exists
	Theme     string              `json:"theme"`
	Embedding core.EmbeddingState `json:"embedding,omitempty"`
	Similar   []similarItem       `json:"similar"`
}

type similarItem struct {
	ID      core.ItemID `json:"id"`
	Snippet string      `json:"content_snippet"`
}

func (c *Server) remember(w http.ResponseWriter, r *http.Request, who client.Caller) (int, any, error) {
	var b newItem
	err := readBody(w, r, &b)
	if err == nil && b.Content == nil {
		err = invalid("content is missing.")
	}
	if err != nil {
		return 0, nil, err
	}
	a, err := c.Memory.Add(r.Context(), core.Item{User: who.User.ID, Theme: b.Theme, Type: core.ItemType(b.Type),
		Content: *b.Content, Tags: b.Tags}, c.Now())
	if err != nil {
		return 0, nil, err
	}
	out := keptItem{ID: a.Item.ID, Status: "exists", Theme: a.Item.Theme, Embedding: a.Item.Embedding,
		Similar: []similarItem{}}
	for _, s := range a.Near {
		out.Similar = append(out.Similar, similarItem{s.ID, text.Shorten(s.Content, snippetLength)})
	}
	if a.Effect == nil {
		return http.StatusOK, out, nil
	}
	out.Status = "added"
	_, err = c.Actor.Act(r.Context(), who.User.ID, effect.Taint(*a.Effect))
	return http.StatusCreated, out, err
}

func (c *Server) item(_ http.ResponseWriter, r *http.Request, who client.Caller) (int, any, error) {
	i, err := c.named(r, who)
	return http.StatusOK, i.View(who.User.Settings.Location(c.Zone)), err
}

func (c *Server) named(r *http.Request, who client.Caller) (core.Item, error) {
	id, err := pathID(r)
	if err != nil {
		return core.Item{}, err
	}
	i, err := c.Memory.Item(r.Context(), who.User.ID, core.ItemID(id))
	if errors.Is(err, core.ErrNotFound) {
		err = missing("There is no item %d.", id)
	}
	return i, err
}

type archivedItem struct {
	ID     core.ItemID     `json:"id"`
	Status core.ItemStatus `json:"status"`
}

// archive answers POST /api/v1/memory/{id}/archive. It accepts an archived item.
func (c *Server) archive(w http.ResponseWriter, r *http.Request, who client.Caller) (int, any, error) {
	if err := noBody(w, r); err != nil {
		return 0, nil, err
	}
	i, err := c.named(r, who)
	if err == nil && i.Status == core.ItemActive {
		_, err = c.Actor.Act(r.Context(), who.User.ID, effect.Taint(effect.ArchiveItem{Item: i.ID, At: c.Now()}))
	}
	return http.StatusOK, archivedItem{i.ID, core.ItemArchived}, err
}

type themesAnswer struct {
	Themes []themeView `json:"themes"`
}

type themeView struct {
	Slug   string `json:"slug"`
	Name   string `json:"display_name"`
	Active int    `json:"active_items"`
}

func (c *Server) themes(_ http.ResponseWriter, r *http.Request, who client.Caller) (int, any, error) {
	p := paramsOf(r, "limit")
	limit := p.limit(100, 500)
	if p.err != nil {
		return 0, nil, p.err
	}
	found, err := c.Memory.Themes(r.Context(), who.User.ID, limit)
	out := themesAnswer{Themes: []themeView{}}
	for _, t := range found {
		out.Themes = append(out.Themes, themeView{t.Slug, t.Name, t.Active})
	}
	return http.StatusOK, out, err
}

// Standing lists and prepares standing instructions, as standing.Standing does.
type Standing interface {
	List(ctx context.Context, user core.UserID) (active, waiting []core.Instruction, err error)
	Add(ctx context.Context, user core.UserID, language, wish string,
		now time.Time) (add *effect.AddInstruction, same core.Instruction, err error)
}

type standingAnswer struct {
	Standing []instructionView `json:"standing"`
}

type instructionView struct {
	ID       core.InstructionID `json:"id"`
	Text     string             `json:"text"`
	Active   bool               `json:"active"`   // false: inactive for lack of room
	Proposed bool               `json:"proposed"` // by the assistant
	Message  core.MessageID     `json:"source_message_id,omitempty"`
	Created  string             `json:"created_at"`
}

func (c *Server) instructions(r *http.Request, who client.Caller) ([]instructionView, error) {
	active, waiting, err := c.Standing.List(r.Context(), who.User.ID)
	out := []instructionView{}
	for n, i := range slices.Concat(active, waiting) {
		out = append(out, instructionView{i.ID, i.Text, n < len(active), i.Noted, i.Source,
			core.Stamp(i.CreatedAt, who.User.Settings.Location(c.Zone))})
	}
	return out, err
}

func (c *Server) standing(_ http.ResponseWriter, r *http.Request, who client.Caller) (int, any, error) {
	if p := paramsOf(r); p.err != nil {
		return 0, nil, p.err
	}
	all, err := c.instructions(r, who)
	return http.StatusOK, standingAnswer{all}, err
}

type newInstruction struct {
	Text *string `json:"text"`
}

// keptInstruction is the existing instruction that says the same, or the proposed one. The latter has no id yet.
type keptInstruction struct {
	Text   string             `json:"text"`
	Status string             `json:"status"` // asked or exists
	ID     core.InstructionID `json:"id,omitempty"`
	Where  string             `json:"asked_on,omitempty"` // the channel
}

// want answers POST /api/v1/standing: it asks the person, whose yes adds the instruction.
func (c *Server) want(w http.ResponseWriter, r *http.Request, who client.Caller) (int, any, error) {
	var b newInstruction
	err := readBody(w, r, &b)
	if err == nil && b.Text == nil {
		err = invalid("text is missing.")
	}
	if err != nil {
		return 0, nil, err
	}
	add, same, err := c.Standing.Add(r.Context(), who.User.ID, i18n.English, *b.Text, c.Now())
	if err != nil {
		return 0, nil, err
	}
	if add == nil {
		return http.StatusOK, keptInstruction{Text: same.Text, Status: "exists", ID: same.ID}, nil
	}
	at, err := c.Proposer.Propose(r.Context(), who.User, who.Key.Name, effect.Taint(*add))
	if err == nil && at.ID == 0 {
		err = failed(http.StatusConflict, "nowhere_to_ask",
			"The user has to say yes, and has no chat app where they could be asked, nor opened the web page.", 0)
	}
	return http.StatusAccepted, keptInstruction{Text: add.Instruction.Text, Status: "asked", Where: at.Address.Channel}, err
}

type removedInstruction struct {
	ID     core.InstructionID `json:"id"`
	Status string             `json:"status"`
}

func (c *Server) unwant(w http.ResponseWriter, r *http.Request, who client.Caller) (int, any, error) {
	if err := noBody(w, r); err != nil {
		return 0, nil, err
	}
	id, err := pathID(r)
	if err != nil {
		return 0, nil, err
	}
	all, err := c.instructions(r, who)
	if err != nil {
		return 0, nil, err
	}
	if !slices.ContainsFunc(all, func(v instructionView) bool { return int64(v.ID) == id }) {
		return 0, nil, missing("There is no standing instruction %d.", id)
	}
	gone := core.InstructionID(id)
	_, err = c.Actor.Act(r.Context(), who.User.ID, effect.RemoveInstruction{Instruction: gone, At: c.Now()})
	return http.StatusOK, removedInstruction{gone, "removed"}, err
}
