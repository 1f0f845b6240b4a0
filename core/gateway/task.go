package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/trust"
)

// deliverTask makes the deliveries of a task's reply what may go elsewhere where they
// cannot be received, unless the reply asks something: it is answered where it is asked.
func (g *Gateway) deliverTask(r *core.Reply, q asking) {
	if r.Turn.Task == 0 || len(q.approvals) > 0 {
		return
	}
	for n := range r.Deliveries {
		r.Deliveries[n].Kind, r.Deliveries[n].Why = core.DeliverTask, "task"
	}
}

// spent reports whether an error says that the day has no more tokens.
func spent(err error) bool {
	var over *trust.OverCap
	return errors.As(err, &over)
}

// causeOf is why a run failed.
func causeOf(err error) core.RunCause {
	var over *trust.OverCap
	var m *core.ModelError
	switch {
	case errors.As(err, &over) && over.One:
		return core.CauseTokens
	case errors.As(err, &over):
		return core.CauseAll
	case !errors.As(err, &m) || !hopeless(m):
		return core.CauseModel
	case operators(m):
		return core.CauseSetup
	}
	return core.CauseRefused
}

// failTask ends the turn of a task that came to nothing. The person is told once, in the
// conversation and where they are reached, and asked whether a task that failed too often
// is to go on.
func (g *Gateway) failTask(t *core.Turn, u core.User, cause core.RunCause, failure error) error {
	ctx, now, server := context.WithoutCancel(g.ctx), g.Now(), ""
	var m *core.ModelError
	if u.Role == core.RoleOwner && errors.As(failure, &m) && hopeless(m) {
		server = quoted(m.Err)
	}
	var told core.Outcome
	err := g.retry(g.ctx, "say why a task failed", func(ctx context.Context) (err error) {
		told, err = g.Tasks.Failed(ctx, u, t, cause, server, now)
		return err
	})
	if err != nil {
		return fmt.Errorf("say why a task failed: %w", err)
	}
	r := core.Reply{Turn: t, State: core.TurnFailed, Now: now, Day: g.Calendar.Day(u.Settings, now).Label, Usage: t.Used,
		Cause: cause, Effects: told.Effects, Error: string(cause)}
	if failure != nil {
		r.Error = failure.Error()
	}
	r.Messages = []core.NewMessage{{Role: core.RoleAssistant, Kind: core.KindChat, Text: told.Text, SentAt: now,
		Tokens: g.Tokens.Count(told.Text), Task: &core.TaskMark{Due: t.Due}}}
	d := core.NewDelivery{To: t.Address, Identity: t.Identity, Kind: core.DeliverTask,
		Parts: g.parts(told.Text, t.Address.Channel), Why: "task"}
	if len(told.Buttons) > 0 {
		d.Kind, d.Parts = core.DeliverReply, trust.WithButtons(d.Parts, told.Buttons)
	}
	r.Deliveries = []core.NewDelivery{d}
	g.Log.Warn("task not done", zap.Int64("user", int64(t.User)), zap.Int64("task", int64(t.Task)),
		zap.Int64("turn", int64(t.ID)), zap.String("cause", string(cause)), zap.Error(failure))
	g.Meter.Count("everthread_tasks_total", 1, string(cause))
	if err = g.unanswered("end a task", r); err != nil {
		return err
	}
	g.logUnless(ctx, g.tellOwner(ctx, u, m), "tell the owner what the model's server said")
	return nil
}

// proposeTasks adds the question about tasks that a turn proposes to its last words, and
// says which were set without one.
func (g *Gateway) proposeTasks(ctx context.Context, t *core.Turn, u core.User, a *core.Answer, q *asking,
	now time.Time) error {
	w := say(g.language(u.Settings))
	s := core.TaskSubject{}
	var set, asked []string
	for _, e := range a.Effects {
		switch e := e.(type) {
		case core.SetTask:
			set = append(set, fmt.Sprintf(w.ToldTask, quote(e.Task.Text), g.whenTask(u, e.Task), e.Task.ID))
		case core.ProposeTask:
			k := e.Task
			line := quote(k.Text) + " · " + g.whenTask(u, k)
			if slices.Contains(asked, line) {
				continue
			}
			asked = append(asked, line)
			s.Tasks = append(s.Tasks, core.ProposedTask{Text: k.Text, Due: k.DueAt, Cron: k.Cron, Zone: k.Zone,
				Tainted: k.Tainted})
		}
	}
	if len(set) > 0 {
		sayAlso(a, strings.Join(set, "\n"))
	}
	if len(asked) == 0 {
		return nil
	}
	if n := len(t.Inputs); n > 0 {
		s.Source = t.Inputs[n-1]
	}
	subject, err := json.Marshal(s)
	if err != nil {
		return err
	}
	ask := &core.Approval{Code: fmt.Sprintf("P%d", t.ID), Kind: core.ApproveTask, Identity: t.Identity, Turn: t.ID,
		Subject: string(subject), AskedAt: now, Expires: now.Add(core.ApprovalLife)}
	text := fmt.Sprintf(w.AskTask, strings.Join(asked, "\n")) + "\n" + w.AskTaskYes
	if len(q.approvals) > 0 {
		text += " " + fmt.Sprintf(w.AskByName, ask.Code, ask.Code)
	}
	if text, err = g.ask(ctx, t, u, q, ask, text); err != nil {
		return err
	}
	sayAlso(a, text)
	return nil
}

// whenTask says when a task comes next, and how it recurs.
func (g *Gateway) whenTask(u core.User, k core.Task) string {
	return g.Tasks.When(k, g.language(u.Settings))
}

// quote is a text as one line of code.
func quote(s string) string { return "`" + strings.ReplaceAll(trust.Line(s), "`", "'") + "`" }
