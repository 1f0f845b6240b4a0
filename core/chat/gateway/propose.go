package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/trust"
)

// Propose asks a user whether what a program or a file brings may hold or be done from now on: effects are of the types
// effect.ProposeInstruction and effect.ProposeTask, others are ignored. It asks where proactive messages go, and not again
// while the same question is open. asked is zero if the user can be asked nowhere.
func (g *Gateway) Propose(ctx context.Context, u core.User, from string, effects ...core.Effect) (asked core.Identity,
	err error) {
	language, w := g.language(u.Settings), say(g.language(u.Settings))
	var standing effect.StandingSubject
	var tasks effect.TaskSubject
	var quoted, lines []string
	for _, e := range effects {
		switch e := e.(type) {
		case effect.ProposeInstruction:
			standing.Texts, quoted = append(standing.Texts, e.Text), append(quoted, quote(e.Text))
		case effect.ProposeTask:
			k := e.Plan
			lines = append(lines, quote(k.Text)+" · "+g.Tasks.When(k, language))
			tasks.Tasks = append(tasks.Tasks, effect.ProposedTask{Text: k.Text, Due: k.DueAt, Cron: k.Cron, Zone: k.Zone,
				Tainted: true})
		}
	}
	if len(quoted) > 0 {
		asked, err = g.proposal(ctx, u, from, effect.ApproveStanding, standing,
			fmt.Sprintf(w.AskAlways, strings.Join(quoted, " · "))+"\n"+w.AskAlwaysYes)
	}
	if len(lines) > 0 && err == nil {
		asked, err = g.proposal(ctx, u, from, effect.ApproveTask, tasks, fmt.Sprintf(w.AskTask, strings.Join(lines, "\n")))
	}
	return asked, err
}

// recentQuestions bounds the newest questions of a user that are looked through for the same one.
const recentQuestions = 50

// proposal asks one question of Propose.
func (g *Gateway) proposal(ctx context.Context, u core.User, from string, kind effect.ApprovalKind, subject any,
	text string) (core.Identity, error) {
	about, err := json.Marshal(subject)
	if err != nil {
		return core.Identity{}, err
	}
	now := g.Now()
	to, err := g.askedElsewhere(ctx, u)
	if err != nil || to.Identity.ID == 0 {
		return to.Identity, err
	}
	before, err := g.Store.Approvals(ctx, u.ID, 0, recentQuestions)
	if err != nil || slices.ContainsFunc(before, func(a effect.Approval) bool {
		return a.Kind == kind && a.Subject == string(about) && a.Identity == to.Identity.ID && a.Open(now)
	}) {
		return to.Identity, err
	}
	sum := sha256.Sum256(append(about, now.Format(time.RFC3339Nano)...))
	a := effect.Approval{Code: "F" + strings.ToUpper(hex.EncodeToString(sum[:4])), Kind: kind, Identity: to.Identity.ID,
		Subject: string(about), AskedAt: now, Expires: now.Add(core.ApprovalLife)}
	w := say(g.language(u.Settings))
	text += "\n" + fmt.Sprintf(w.AskFrom, quote(from)) + "\n\n" + w.answering(a.Code, true)
	d := to.Delivery(core.DeliverNotice, trust.WithButtons(g.parts(text, to.Identity.Address.Channel),
		trust.YesNo(g.language(u.Settings), a.Code, false)))
	d.Expires = a.Expires
	_, err = g.Store.Note(ctx, store.Note{User: u.ID, Identity: to.Identity.ID, Now: now,
		Effects: []core.Effect{effect.AskApproval{Approval: a}}, Deliveries: []core.NewDelivery{d},
		Messages: []core.NewMessage{{Role: core.RoleAssistant, Kind: core.KindNotice, Text: text, SentAt: now,
			Tainted: true, Rings: to.Held || g.Channels.Capabilities(to.Identity.Address.Channel).Rings}}})
	return to.Identity, err
}

// ofProgram marks what the command of a program changes as caused by words that the person did not write, and has the
// person asked about what would hold or be done from now on.
func (g *Gateway) ofProgram(ctx context.Context, u core.User, from string, out *core.Outcome) error {
	asks := false
	for n, e := range out.Effects {
		out.Effects[n] = effect.Taint(e)
		switch out.Effects[n].(type) {
		case effect.ProposeInstruction, effect.ProposeTask:
			asks = true
		}
	}
	if !asks {
		return nil
	}
	asked, err := g.Propose(ctx, u, from, out.Effects...)
	if err != nil {
		return err
	}
	out.Effects, out.Text = nil, say(g.language(u.Settings)).AskNowhere
	if asked.ID != 0 {
		out.Text = fmt.Sprintf(say(g.language(u.Settings)).AskElsewhere, trust.AddressName(asked.Address, ""))
	}
	return nil
}
