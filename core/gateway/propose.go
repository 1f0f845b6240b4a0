package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/trust"
)

// propose adds the question about standing instructions that a turn proposes to its last
// words. A program's person is asked where something proactive goes.
func (g *Gateway) propose(ctx context.Context, t *core.Turn, u core.User, a *core.Answer, q *asking,
	now time.Time) error {
	texts := proposals(a.Effects)
	if len(texts) == 0 {
		return nil
	}
	s := core.StandingSubject{Texts: texts}
	if n := len(t.Inputs); n > 0 {
		s.Source = t.Inputs[n-1]
	}
	subject, err := json.Marshal(s)
	if err != nil {
		return err
	}
	ask := &core.Approval{Code: fmt.Sprintf("S%d", t.ID), Kind: core.ApproveStanding, Identity: t.Identity, Turn: t.ID,
		Subject: string(subject), AskedAt: now, Expires: now.Add(core.ApprovalLife)}
	text := proposalText(g.language(u.Settings), texts, len(q.approvals) > 0, ask.Code)
	text, err = g.ask(ctx, t, u, q, ask, text)
	if err != nil {
		return err
	}
	sayAlso(a, text)
	return nil
}

// proposals are the texts that effects propose, each once.
func proposals(effects []core.Effect) (texts []string) {
	for _, e := range effects {
		if p, ok := e.(core.ProposeInstruction); ok && !slices.Contains(texts, p.Text) {
			texts = append(texts, p.Text)
		}
	}
	return texts
}

// proposalText asks about all of them at once.
func proposalText(language string, texts []string, other bool, code string) string {
	w := say(language)
	quoted := make([]string, len(texts))
	for n, text := range texts {
		quoted[n] = "`" + strings.ReplaceAll(trust.Line(text), "`", "'") + "`"
	}
	out := fmt.Sprintf(w.AskAlways, strings.Join(quoted, " · ")) + "\n" + w.AskAlwaysYes
	if other {
		out += " " + fmt.Sprintf(w.AskByName, code, code)
	}
	return out
}

// sayAlso adds a text to the last words of an answer.
func sayAlso(a *core.Answer, text string) {
	for i := len(a.Messages) - 1; i >= 0; i-- {
		if m := &a.Messages[i]; m.Role == core.RoleAssistant {
			m.Text, m.Tokens, m.Tainted = strings.TrimSpace(m.Text+"\n\n"+text), 0, m.Tainted || a.Tainted
			return
		}
	}
	a.Messages = append(a.Messages, core.NewMessage{Role: core.RoleAssistant, Text: text, Tainted: a.Tainted})
}
