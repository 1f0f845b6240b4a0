package engine

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/chat/prompt"
	"github.com/everthread/everthread/core/memory/items"
	"github.com/everthread/everthread/core/memory/standing"
	"github.com/everthread/everthread/core/store"
)

// Prompt builds the prompt of a turn; see gateway.Prompter.
func (ts *Turns) Prompt(ctx context.Context, t *core.Turn, u core.User, now time.Time) (store.Prompt, error) {
	ts = ts.chosen(t, u)
	if ts.awaits() {
		if err := ts.Files.Loaded(ctx, t.User, t.Inputs); err != nil {
			return store.Prompt{}, fmt.Errorf("wait for attachments: %w", err)
		}
	}
	budgets := ts.budgets
	budgets.ToolSchemaTokens = ts.tools.of(u, t.Mode).Tokens()
	if ts.tools.room.Tight() {
		budgets.SchemaRoom = ts.tools.room.Schemas
	}
	always := standingPart{ts: ts, user: u}
	in := prompt.Input{Turn: *t, Strategy: strategy(ts.Config, u.Settings), Budgets: budgets,
		Static: ts.parts(ctx, t, u, now, &always), Now: now, Zone: u.Settings.Location(ts.Calendar.Zone), Tokens: ts.Tokens,
		Nonce: nonce}
	p, err := ts.buildAs(ctx, in)
	if r := p.Request; err == nil && r != nil && r.Strategy != "" && r.Strategy != in.Strategy {
		in.Strategy = r.Strategy
		p, err = ts.buildAs(ctx, in)
	}
	p.Snapshot.Session, p.Snapshot.Trace = t.Thread, traceOf(t, p.Request)
	switch {
	case always.err != nil: // no prompt without the standing instructions
		err = always.err
	case errors.Is(err, prompt.ErrNoInput):
		err = fmt.Errorf("%w: %w", core.ErrNotFound, err)
	case errors.Is(err, prompt.ErrClientTooLong):
		err = &core.ModelError{Kind: core.ModelTooLong, Err: err}
	case errors.Is(err, prompt.ErrNoRoom):
		err = &core.ModelError{Kind: core.ModelConfig, Err: err}
	}
	return p, err
}

// parts returns the parts of a prompt that do not depend on the conversation.
func (ts *Turns) parts(ctx context.Context, t *core.Turn, u core.User, now time.Time,
	always *standingPart) []prompt.Static {
	var tools []string
	for _, s := range ts.tools.of(u, t.Mode).Tools().Specs() {
		tools = append(tools, s.Name)
	}
	if u.Group() {
		return append(prompt.GroupOpening(ts.Config.Agent.Instructions, tools), prompt.AboutGroup(u.Name, u.Settings.Language,
			u.Settings.Location(ts.Calendar.Zone), now))
	}
	parts := prompt.Opening(ts.Config.Agent.Instructions, t.Mode, t.Title, tools)
	if u.Standing > 0 {
		parts = append(parts, always.static(ctx))
	}
	parts = append(parts, prompt.AboutUser(u.Name, u.Settings.Language, u.Settings.Location(ts.Calendar.Zone), now))
	if !u.Settings.MemoryOff {
		parts = append(parts, ts.hints(ctx, u.ID))
	}
	return parts
}

// traceOf returns the trace id of a turn: that of the client's request, else one that every attempt of the turn has.
func traceOf(t *core.Turn, r *core.Request) string {
	if r != nil && r.Trace != "" {
		return r.Trace
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %d %d", t.User, t.ID, t.StartedAt.UnixMilli()))
	return hex.EncodeToString(sum[:16])
}

// nonce returns the name of an epoch's fences: 50 bits that nobody can guess.
func nonce() string { return strings.ToLower(rand.Text()[:10]) }

// buildAs builds a prompt, and once more in a new epoch if the current one is stale.
func (ts *Turns) buildAs(ctx context.Context, in prompt.Input) (prompt.Prompt, error) {
	q, waited := prompt.Query(in), ts.awaits()
	p, err := ts.build(ctx, in, q, &waited)
	if errors.Is(err, prompt.ErrStale) {
		p, err = ts.build(ctx, in, prompt.Fresh(q), &waited)
	}
	return p, err
}

// awaits reports whether every turn waits for all of its attachments, since a prompt contains transcripts or pictures.
func (ts *Turns) awaits() bool { return ts.Config.Transcription.Model != "" || ts.Config.LLM.Sees() }

// unread reports whether an attachment of the turn's inputs has not arrived, or a document has not been read yet.
func (ts *Turns) unread(in prompt.Input) bool {
	for _, m := range slices.Backward(in.Window.Messages) { // the inputs are the last
		if len(m.Attachments) > 0 && slices.Contains(in.Turn.Inputs, m.ID) && ts.Files.Unread(m.Attachments) {
			return true
		}
	}
	return false
}

// build builds a prompt. It waits for the attachments of the turn's inputs, once a turn.
func (ts *Turns) build(ctx context.Context, in prompt.Input, q store.WindowQuery, waited *bool) (prompt.Prompt, error) {
	var err error
	if in.Window, err = ts.Store.Window(ctx, &in.Turn, q); err != nil {
		return prompt.Prompt{}, err
	}
	if !*waited && ts.unread(in) {
		*waited = true
		if err = ts.Files.Readable(ctx, in.Turn.User, in.Turn.Inputs); err == nil {
			in.Window, err = ts.Store.Window(ctx, &in.Turn, q)
		}
		if err != nil {
			return prompt.Prompt{}, fmt.Errorf("wait for attachments: %w", err)
		}
	}
	return prompt.Build(in)
}

// hints returns the part of a prompt that lists the themes of memory.
func (ts *Turns) hints(ctx context.Context, user core.UserID) prompt.Static {
	return prompt.Static{Name: "themes", Load: func() (text string, tainted bool, err error) {
		themes, err := ts.Memory.Themes(ctx, user, hintedThemes)
		return items.Hints(themes, err), items.Foreign(themes), err
	}}
}

// hintedThemes is one theme more than the hints list, so that they can mention that there are more.
const hintedThemes = 11

func (e *Engine) newStanding() *standing.Standing {
	c := e.Config.Standing
	return &standing.Standing{Store: e.Store, Tokens: e.Tokens,
		Settings: standing.Settings{MaxActive: c.MaxActive, MaxTokens: c.MaxTokens}}
}

// standingPart is the part of a prompt with the standing instructions. It is read when an
// epoch begins; a change of the instructions begins one.
type standingPart struct {
	ts   *Turns
	user core.User
	err  error // of the reading
}

func (p *standingPart) static(ctx context.Context) prompt.Static {
	load := func() (text string, tainted bool, err error) {
		text, p.err = p.ts.Standing.Prompt(ctx, p.user.ID)
		return text, false, p.err
	}
	return prompt.Static{Name: core.PartStanding, Text: fmt.Sprint(p.user.Standing), Load: load}
}

// StandingOf returns a user's standing instructions as text of a prompt; empty: there never were any.
func (ts *Turns) StandingOf(ctx context.Context, user core.UserID) (string, error) {
	u, err := ts.Users.User(ctx, user)
	if err != nil || u.Standing == 0 {
		return "", err
	}
	return ts.Standing.Prompt(ctx, user)
}

// withStanding inserts a user's standing instructions after the system messages of a request outside the conversation.
func (ts *Turns) withStanding(ctx context.Context, user core.UserID, ms []core.ModelMessage) ([]core.ModelMessage,
	error) {
	always, err := ts.StandingOf(ctx, user)
	if err != nil || always == "" {
		return ms, err
	}
	n := slices.IndexFunc(ms, func(m core.ModelMessage) bool { return m.Role != core.RoleSystem })
	if n < 0 {
		n = len(ms)
	}
	return slices.Insert(slices.Clone(ms), n, core.ModelMessage{Role: core.RoleSystem, Content: always}), nil
}

// SnapshotStore reads the contents of snapshots.
type SnapshotStore interface {
	Epoch(ctx context.Context, user core.UserID, id core.TurnID) (*store.Epoch, error)
	Messages(ctx context.Context, user core.UserID, ids []core.MessageID) ([]core.Message, error)
	PageTexts(ctx context.Context, user core.UserID, refs []store.PageRef) ([]store.Page, error)
}

// Rebuild returns the prompt that a snapshot describes.
func Rebuild(ctx context.Context, st SnapshotStore, c configs.Config, t core.Tokenizer, user core.UserID,
	s *store.Snapshot) ([]core.ModelMessage, error) {
	e, err := st.Epoch(ctx, user, s.Epoch)
	if err != nil {
		return nil, fmt.Errorf("read the epoch of the prompt: %w", err)
	}
	ms, err := st.Messages(ctx, user, slices.Collect(s.Messages.All()))
	if err != nil {
		return nil, fmt.Errorf("read the messages of the prompt: %w", err)
	}
	var refs []store.PageRef
	for _, h := range e.Head {
		refs = append(refs, h.Pages...)
	}
	pages, err := st.PageTexts(ctx, user, refs)
	if err != nil {
		return nil, fmt.Errorf("read the history of the prompt: %w", err)
	}
	return prompt.Rebuild(*e, *s, ms, pages, budgets(c), t), nil
}
