package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/trust"
)

// decide stores the answer to a question of a turn, and starts the turn that goes
// on with it. An answer that came too late, or twice, is told so.
func (g *Gateway) decide(ctx context.Context, u core.User, i core.Identity, e core.Inbound, d core.Decision,
	now time.Time) error {
	e.Text = say(g.language(u.Settings)).DecidedNo
	if d.Yes {
		e.Text = say(g.language(u.Settings)).DecidedYes
	}
	err := g.append(ctx, u, i, []core.Inbound{e}, said{decides: &d}, now)
	if !refused(err) {
		return err
	}
	n := core.Note{User: u.ID, Identity: i.ID, Event: &e, Now: now, Window: g.window(e, now),
		Effects: []core.Effect{core.Tell{Row: core.AuditRow{What: core.AuditQuestion, Object: "question",
			IDs: []int64{int64(d.Approval)}, Result: core.ResultRefused}}}}
	n.Messages, n.Deliveries = g.notice(say(g.language(u.Settings)).Refused, i, now)
	_, err = g.Store.Note(ctx, n)
	return err
}

// asking is a question on its way: what is stored with the turn's reply.
type asking struct {
	approvals []core.Approval // none: nothing is asked
	buttons   []core.Button
	elsewhere []core.NewDelivery // where it is asked, if not where the turn answers
}

// question makes the answer of a turn the question that it ends with. A program's
// turn asks its person where something proactive goes.
func (g *Gateway) question(ctx context.Context, t *core.Turn, u core.User, a *core.Answer,
	now time.Time) (q asking, err error) {
	if a.Question == nil {
		return q, nil
	}
	subject, err := json.Marshal(core.CallSubject{Call: a.Question.Call})
	if err != nil {
		return q, err
	}
	language := g.language(u.Settings)
	text := questionText(language, *a.Question)
	ask := &core.Approval{Code: fmt.Sprintf("T%d", t.ID), Kind: core.ApproveCall, Identity: t.Identity, Turn: t.ID,
		Subject: string(subject), AskedAt: now, Expires: now.Add(core.ApprovalLife)}
	if text, err = g.ask(ctx, t, u, &q, ask, text); err != nil {
		return q, err
	}
	a.Messages = append(a.Messages, core.NewMessage{Role: core.RoleAssistant, Text: text, Tainted: a.Tainted})
	return q, nil
}

// ask adds a question to those of a turn, and returns what the turn's answer says of it.
// A program's person is asked elsewhere, and where there is nobody to ask nothing is.
func (g *Gateway) ask(ctx context.Context, t *core.Turn, u core.User, q *asking, a *core.Approval,
	text string) (string, error) {
	language := g.language(u.Settings)
	buttons := trust.YesNo(language, a.Code, false)
	if !g.Channels.Capabilities(t.Address.Channel).Program {
		if q.approvals = append(q.approvals, *a); len(q.approvals) == 1 { // a second one is answered by its name
			q.buttons = buttons
		}
		return text, nil
	}
	to, err := g.askedElsewhere(ctx, u)
	if err != nil {
		return "", err
	}
	at := to.Identity
	if at.ID == 0 {
		return text + "\n\n" + say(language).AskNowhere, nil
	}
	a.Identity = at.ID
	q.approvals = append(q.approvals, *a)
	parts := trust.WithButtons(g.parts(text, at.Address.Channel), buttons)
	q.elsewhere = append(q.elsewhere, to.Delivery(core.DeliverReply, parts))
	return text + "\n\n" + fmt.Sprintf(say(language).AskElsewhere, trust.AddressName(at.Address, "")), nil
}

// askedElsewhere is where a program's person is asked: where something proactive
// goes, or on the web page.
func (g *Gateway) askedElsewhere(ctx context.Context, u core.User) (core.Target, error) {
	targets, err := g.planner.Plan(ctx, u, false)
	if err != nil {
		return core.Target{}, err
	}
	if len(targets) > 0 {
		return targets[0], nil
	}
	ids, err := g.People.Identities(ctx, u.ID)
	for _, i := range ids {
		if !g.Channels.Capabilities(i.Address.Channel).Program {
			return core.Target{Identity: i, Why: "there is nowhere else"}, err
		}
	}
	return core.Target{}, err
}

// askIn stores the question with a reply, and puts the buttons below it.
func (q asking) askIn(r *core.Reply) {
	for _, a := range q.approvals {
		r.Effects = append(r.Effects, core.AskApproval{Approval: a})
	}
	if len(r.Deliveries) > 0 && len(q.buttons) > 0 {
		r.Deliveries[0].Parts = trust.WithButtons(r.Deliveries[0].Parts, q.buttons)
	}
	r.Deliveries = append(r.Deliveries, q.elsewhere...)
}

// questionText says which call waits for a yes, with all of its arguments.
func questionText(language string, q core.Question) string {
	var pretty bytes.Buffer
	if json.Indent(&pretty, []byte(q.Call.Arguments), "", "  ") != nil {
		pretty.Reset()
		pretty.WriteString(q.Call.Arguments)
	}
	fence := "```"
	for strings.Contains(pretty.String(), fence) {
		fence += "`"
	}
	w := say(language)
	text := fmt.Sprintf(w.AskCall, strings.ReplaceAll(q.Call.Name, "`", "'")) + "\n\n" + fence + "\n" + pretty.String() +
		"\n" + fence + "\n\n"
	if q.Tainted {
		text += w.AskTainted + "\n\n"
	}
	return text + w.AskYes
}

// button puts buttons below a notice.
func (g *Gateway) button(ds []core.NewDelivery, buttons []core.Button) {
	if len(ds) == 0 || len(ds[0].Parts) == 0 {
		return
	}
	ds[0].Parts[len(ds[0].Parts)-1].Buttons = buttons
}

// others adds deliveries of a text to all other identities that may be written to.
func (g *Gateway) others(ctx context.Context, n *core.Note, u core.User, i core.Identity, text string) error {
	if text == "" {
		return nil
	}
	targets, err := g.planner.Plan(ctx, u, true)
	for _, to := range targets {
		if to.Identity.ID == i.ID {
			continue
		}
		n.Deliveries = append(n.Deliveries, core.NewDelivery{To: to.Identity.Address, Identity: to.Identity.ID,
			Kind: core.DeliverNotice, Why: "told to all identities", Parts: g.parts(text, to.Identity.Address.Channel)})
	}
	return err
}

// after does what follows from an answer to a command, beside what it stored: the
// scheduler finds it again.
func (g *Gateway) after(ctx context.Context, effects []core.Effect) {
	if slices.ContainsFunc(effects, func(e core.Effect) bool { _, ok := e.(core.UseLink); return ok }) {
		g.logUnless(ctx, g.People.AskLinks(ctx), "ask about a linked address")
	}
}
