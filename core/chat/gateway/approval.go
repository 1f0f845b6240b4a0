package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/audit"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/trust"
)

// decide stores the answer to a turn's question and starts the turn that continues with
// it. A late or repeated answer is stored as refused, and its sender notified.
func (g *Gateway) decide(ctx context.Context, u core.User, i core.Identity, e core.Inbound, d core.Decision,
	now time.Time) error {
	e.Text = say(g.language(u.Settings)).DecidedNo
	if d.Yes {
		e.Text = say(g.language(u.Settings)).DecidedYes
	}
	err := g.append(ctx, u, i, []core.Inbound{e}, appendOptions{decides: &d}, now)
	if !refused(err) {
		return err
	}
	n := store.Note{User: u.ID, Identity: i.ID, Event: &e, Now: now, Window: g.window(e, now),
		Effects: []core.Effect{effect.Tell{Row: audit.Row{What: audit.Question, Object: "question",
			IDs: []int64{int64(d.Approval)}, Result: audit.Refused}}}}
	n.Messages, n.Deliveries = g.notice(say(g.language(u.Settings)).Refused, i, now)
	_, err = g.Store.Note(ctx, n)
	return err
}

// asking collects the questions that are stored with a turn's reply.
type asking struct {
	approvals []effect.Approval
	buttons   []core.Button      // of the first question
	elsewhere []core.NewDelivery // questions that another identity gets
}

// newApproval returns a question of a turn. Prefix tells apart the codes of its questions.
func newApproval(t *core.Turn, prefix string, kind effect.ApprovalKind, subject any,
	now time.Time) (effect.Approval, error) {
	s, err := json.Marshal(subject)
	return effect.Approval{Code: fmt.Sprintf("%s%d", prefix, t.ID), Kind: kind, Identity: t.Identity, Turn: t.ID,
		Subject: string(s), AskedAt: now, Expires: now.Add(core.ApprovalLife)}, err
}

// question ends an answer with the question whether a tool call may run.
func (g *Gateway) question(ctx context.Context, t *core.Turn, u core.User, a *core.Answer,
	now time.Time) (q asking, err error) {
	if a.Question == nil {
		return q, nil
	}
	ask, err := newApproval(t, "T", effect.ApproveCall, effect.CallSubject{Call: a.Question.Call}, now)
	if err != nil {
		return q, err
	}
	text, err := g.ask(ctx, t, u, &q, ask, questionText(g.language(u.Settings), ask.Code, *a.Question),
		!a.Question.Tainted)
	if err != nil {
		return q, err
	}
	a.Messages = append(a.Messages, core.NewMessage{Role: core.RoleAssistant, Text: text,
		Tainted: a.Question.Tainted})
	return q, nil
}

// ask adds a question to those of a turn, and returns its text for the turn's answer. In a program's turn the question
// goes to another identity of the user; without one it is not asked. always: the tool may be allowed for longer.
func (g *Gateway) ask(ctx context.Context, t *core.Turn, u core.User, q *asking, a effect.Approval,
	text string, always bool) (string, error) {
	language := g.language(u.Settings)
	buttons := trust.YesNoAlways(language, a.Code, always)
	if !g.Channels.Capabilities(t.Address.Channel).Program {
		if q.approvals = append(q.approvals, a); len(q.approvals) == 1 { // others are answered by their codes
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
	q.approvals = append(q.approvals, a)
	parts := trust.WithButtons(g.parts(text, at.Address.Channel), buttons)
	q.elsewhere = append(q.elsewhere, to.Delivery(core.DeliverReply, parts))
	return text + "\n\n" + fmt.Sprintf(say(language).AskElsewhere, trust.AddressName(at.Address, "")), nil
}

// askedElsewhere returns the target of a question in a program's turn: that of proactive
// messages, else any identity that is not a program. It is zero if there is none.
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

// askAlso adds a question about proposals to the end of an answer.
func (g *Gateway) askAlso(ctx context.Context, t *core.Turn, u core.User, a *core.Answer, q *asking,
	ask effect.Approval, text string) error {
	w := say(g.language(u.Settings))
	switch {
	case len(q.approvals) > 0:
		text += " " + fmt.Sprintf(w.AskByName, ask.Code, ask.Code)
	default:
		text += " " + w.answering(ask.Code, a.Tainted)
	}
	text, err := g.ask(ctx, t, u, q, ask, text, false)
	if err == nil {
		sayAlso(a, text, a.Tainted)
	}
	return err
}

// sayAlso adds a text to the last message of an answer.
func sayAlso(a *core.Answer, text string, tainted bool) {
	for i := len(a.Messages) - 1; i >= 0; i-- {
		if m := &a.Messages[i]; m.Role == core.RoleAssistant {
			m.Text, m.Tokens, m.Tainted = strings.TrimSpace(m.Text+"\n\n"+text), 0, m.Tainted || tainted
			return
		}
	}
	a.Messages = append(a.Messages, core.NewMessage{Role: core.RoleAssistant, Text: text, Tainted: tainted})
}

// askIn stores the questions with a reply, and puts the buttons below it.
func (q asking) askIn(r *store.Reply) {
	for _, a := range q.approvals {
		r.Effects = append(r.Effects, effect.AskApproval{Approval: a})
	}
	if len(r.Deliveries) > 0 && len(q.buttons) > 0 { // a question comes before /continue
		r.Deliveries[0].Parts = trust.WithButtons(r.Deliveries[0].Parts, q.buttons)
	}
	r.Deliveries = append(r.Deliveries, q.elsewhere...)
}

// questionText renders the question about a call, with all of its arguments.
func questionText(language, code string, q core.Question) string {
	arguments, fence := trust.Spelled(q.Call.Arguments), "```"
	for strings.Contains(arguments, fence) {
		fence += "`"
	}
	w := say(language)
	text := fmt.Sprintf(w.AskCall, strings.ReplaceAll(q.Call.Name, "`", "'")) + "\n\n" + fence + "\n" + arguments +
		"\n" + fence + "\n\n"
	if q.Tainted {
		text += w.AskTainted + "\n\n"
	}
	if text += w.answering(code, q.Tainted); !q.Tainted {
		text += " " + fmt.Sprintf(w.AskLonger, code)
	}
	return text
}

// answering returns how to answer a question. A plain yes to one of a turn that read words of others does not count.
func (w *texts) answering(code string, tainted bool) string {
	if tainted {
		return fmt.Sprintf(w.AskCode, code, code)
	}
	return w.AskYes
}

// lastInput returns the last message that a turn answers; 0: none.
func lastInput(t *core.Turn) core.MessageID {
	if len(t.Inputs) == 0 {
		return 0
	}
	return t.Inputs[len(t.Inputs)-1]
}

// button puts buttons below a notice.
func (g *Gateway) button(ds []core.NewDelivery, buttons []core.Button) {
	if len(ds) == 0 || len(ds[0].Parts) == 0 {
		return
	}
	ds[0].Parts[len(ds[0].Parts)-1].Buttons = buttons
}

// notifyOthers adds deliveries of a text to all other identities of push channels.
func (g *Gateway) notifyOthers(ctx context.Context, n *store.Note, u core.User, i core.Identity, text string) error {
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

// followUp continues after the stored effects of a command. If the process dies before it, the scheduler repeats it.
func (g *Gateway) followUp(ctx context.Context, effects []core.Effect) {
	if slices.ContainsFunc(effects, func(e core.Effect) bool { _, ok := e.(effect.UseLink); return ok }) {
		g.logUnless(ctx, g.People.AskLinks(ctx), "ask about a linked address")
	}
}
