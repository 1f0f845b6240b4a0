package gateway

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
)

// propose adds one question about all standing instructions that a turn proposes.
func (g *Gateway) propose(ctx context.Context, t *core.Turn, u core.User, a *core.Answer, q *asking,
	now time.Time) error {
	s := core.StandingSubject{Source: lastInput(t)}
	var quoted []string
	for _, e := range a.Effects {
		if p, ok := e.(core.ProposeInstruction); ok && !slices.Contains(s.Texts, p.Text) {
			s.Texts, quoted = append(s.Texts, p.Text), append(quoted, quote(p.Text))
		}
	}
	if len(s.Texts) == 0 {
		return nil
	}
	ask, err := newApproval(t, "S", core.ApproveStanding, s, now)
	if err != nil {
		return err
	}
	w := say(g.language(u.Settings))
	return g.askAlso(ctx, t, u, a, q, ask,
		fmt.Sprintf(w.AskAlways, strings.Join(quoted, " · "))+"\n"+w.AskAlwaysYes)
}
