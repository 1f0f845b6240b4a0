package agent

import (
	"context"
	"fmt"
)

// terms is what people have to know before they rely on this channel.
const terms = "Chats with personal agents are not end-to-end encrypted: their content passes through Meta to this server. Read the terms for third-party agents before you let others use them."

// Diagnose looks at the keys. It does not poll, which would take over from the
// process that does.
func (c *Channel) Diagnose(ctx context.Context) []Finding {
	agents, err := c.reload(ctx)
	if err != nil {
		return []Finding{{Text: err.Error()}}
	}
	if len(agents) == 0 {
		return []Finding{{OK: true, Text: "There are no personal agents; add one with everthread users agent add."}}
	}
	var out []Finding
	for _, s := range c.Agents() {
		a, err := c.agent(ctx, s.Account)
		if err != nil {
			continue
		}
		out = append(out, a.finding(ctx))
	}
	return append(out, Finding{OK: true, Text: terms})
}

func (a *agent) finding(ctx context.Context) Finding {
	who := fmt.Sprintf("Agent %s of user %d: ", a.account, a.key.User)
	if err := a.probe(ctx); err != nil {
		return Finding{Text: who + deadKey(err).Error()}
	}
	creator, err := a.c.opts.Keeper(a.account).State(ctx, creatorKey)
	switch {
	case err != nil:
		return Finding{Text: who + "its state cannot be read: " + err.Error()}
	case creator == "":
		return Finding{OK: true, Text: who + "the key works, and the person has yet to write to the agent."}
	}
	return Finding{OK: true, Text: who + "the key works."}
}
