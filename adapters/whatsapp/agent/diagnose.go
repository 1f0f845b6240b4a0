package agent

import (
	"context"
	"fmt"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/words"
)

// findings are the texts of Diagnose in one language. The comments list the values for
// the formatting verbs in order.
type findings struct {
	Terms             string // restrictions of this channel
	None              string
	Agent             string // account, user, finding
	KeyDead, NoState  string // why
	KeyGood, NotBegun string
}

var say = words.In[findings]("whatsapp_agent")

// Diagnose checks the keys. It does not poll, which would interrupt the process that
// does.
func (c *Channel) Diagnose(ctx context.Context, language string) []core.Finding {
	w := say(language)
	agents, err := c.reload(ctx)
	if err != nil {
		return []core.Finding{{Detail: err.Error()}}
	}
	if len(agents) == 0 {
		return []core.Finding{{OK: true, Detail: w.None}}
	}
	var out []core.Finding
	for _, s := range c.Agents() {
		a, err := c.agent(ctx, s.Account)
		if err != nil {
			continue
		}
		out = append(out, a.finding(ctx, w))
	}
	return append(out, core.Finding{OK: true, Detail: w.Terms})
}

func (a *agent) finding(ctx context.Context, w *findings) core.Finding {
	said := func(ok bool, what string) core.Finding {
		return core.Finding{OK: ok, Detail: fmt.Sprintf(w.Agent, a.account, a.key.User, what)}
	}
	if err := a.probe(ctx); err != nil {
		return said(false, fmt.Sprintf(w.KeyDead, err))
	}
	creator, err := a.c.opts.Store.Keeper(a.account).State(ctx, creatorKey)
	switch {
	case err != nil:
		return said(false, fmt.Sprintf(w.NoState, err))
	case creator == "":
		return said(true, w.NotBegun)
	}
	return said(true, w.KeyGood)
}
