package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/prompt"
	"github.com/everthread/everthread/core/standing"
)

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

// StandingOf returns a user's standing instructions as text of a prompt; empty: there never
// were any.
func (ts *Turns) StandingOf(ctx context.Context, user core.UserID) (string, error) {
	u, err := ts.Users.User(ctx, user)
	if err != nil || u.Standing == 0 {
		return "", err
	}
	return ts.Standing.Prompt(ctx, user)
}

// withStanding inserts a user's standing instructions after the system messages of a
// request outside the conversation.
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
