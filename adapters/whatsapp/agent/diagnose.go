package agent

import (
	"context"
	"fmt"

	"github.com/everthread/everthread/core"
)

// terms is what people have to know before they rely on this channel.
const terms = "Chats with personal agents are not end-to-end encrypted: their content passes through Meta to this server. Read the terms for third-party agents before you let others use them."

// Diagnose looks at the keys. It does not poll, which would take over from the
// process that does.
func (c *Channel) Diagnose(ctx context.Context) []core.Finding {
	agents, err := c.reload(ctx)
	if err != nil {
		return []core.Finding{{Detail: err.Error()}}
	}
	if len(agents) == 0 {
		return []core.Finding{{OK: true, Detail: "There are no personal agents; add one with everthread users agent add."}}
	}
	var out []core.Finding
	for _, s := range c.Agents() {
		a, err := c.agent(ctx, s.Account)
		if err != nil {
			continue
		}
		out = append(out, a.finding(ctx))
	}
	return append(out, core.Finding{OK: true, Detail: terms})
}

func (a *agent) finding(ctx context.Context) core.Finding {
	who := fmt.Sprintf("Agent %s of user %d: ", a.account, a.key.User)
	if err := a.probe(ctx); err != nil {
		return core.Finding{Detail: who + deadKey(err).Error()}
	}
	creator, err := a.c.opts.Keeper(a.account).State(ctx, creatorKey)
	switch {
	case err != nil:
		return core.Finding{Detail: who + "its state cannot be read: " + err.Error()}
	case creator == "":
		return core.Finding{OK: true, Detail: who + "the key works, and the person has yet to write to the agent."}
	}
	return core.Finding{OK: true, Detail: who + "the key works."}
}
