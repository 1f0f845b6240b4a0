package gateway

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/trust"
)

// deliverTask marks the deliveries of a task's reply, so that they may be redirected while
// they cannot be received. A reply with a question is not: it is answered where it is asked.
func (g *Gateway) deliverTask(r *store.Reply, q asking) {
	if r.Turn.Task == 0 || len(q.approvals) > 0 {
		return
	}
	for n := range r.Deliveries {
		r.Deliveries[n].Kind, r.Deliveries[n].Why = core.DeliverTask, "task"
	}
}

// spent reports whether an error means that the day has no tokens left.
func spent(err error) bool {
	var over *trust.OverCap
	return errors.As(err, &over)
}

// causeOf returns the cause of a failed run.
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

// failTask ends the turn of a task that was not done. The person is notified once, in the
// conversation, and asked whether to keep a task that failed too often.
func (g *Gateway) failTask(t *core.Turn, u core.User, cause core.RunCause, failure error) error {
	ctx, now, server := context.WithoutCancel(g.ctx), g.Now(), ""
	var m *core.ModelError
	if u.Role == core.RoleOwner && errors.As(failure, &m) && hopeless(m) {
		server = quote(m.Err.Error())
	}
	var told core.Outcome
	err := g.retry(g.ctx, "report a failed task", func(ctx context.Context) (err error) {
		told, err = g.Tasks.Failed(ctx, u, t, cause, server, now)
		return err
	})
	if err != nil {
		return err
	}
	r := store.Reply{Turn: t, State: core.TurnFailed, Now: now, Day: g.Calendar.Day(u.Settings, now).Label, Spent: t.Used,
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
	g.logUnless(ctx, g.tellOwner(ctx, u, m), "owner not notified of the model's error")
	return nil
}

// proposeTasks adds to an answer the tasks that the turn set, and one question about all tasks that it proposes.
func (g *Gateway) proposeTasks(ctx context.Context, t *core.Turn, u core.User, a *core.Answer, q *asking,
	now time.Time) error {
	language := g.language(u.Settings)
	w := say(language)
	s := effect.TaskSubject{Source: lastInput(t)}
	var set, asked []string
	for _, e := range a.Effects {
		switch e := e.(type) {
		case effect.SetPlan:
			if k := e.Plan; k.Kind == core.PlanTask {
				set = append(set, fmt.Sprintf(w.ToldTask, quote(k.Text), g.Tasks.When(k, language), k.ID))
			}
		case effect.ProposeTask:
			k := e.Plan
			line := quote(k.Text) + " · " + g.Tasks.When(k, language)
			if slices.Contains(asked, line) {
				continue
			}
			asked = append(asked, line)
			s.Tasks = append(s.Tasks, effect.ProposedTask{Text: k.Text, Due: k.DueAt, Cron: k.Cron, Zone: k.Zone,
				Tainted: k.Tainted})
		}
	}
	if len(set) > 0 {
		sayAlso(a, strings.Join(set, "\n"), a.Tainted)
	}
	if len(asked) == 0 {
		return nil
	}
	ask, err := newApproval(t, "P", effect.ApproveTask, s, now)
	if err != nil {
		return err
	}
	return g.askAlso(ctx, t, u, a, q, ask, fmt.Sprintf(w.AskTask, strings.Join(asked, "\n"))+"\n"+w.AskTaskYes)
}

// quote returns a text as one line in code style.
func quote(s string) string { return "`" + strings.ReplaceAll(trust.Line(s), "`", "'") + "`" }

// propose adds one question about all standing instructions that a turn proposes.
func (g *Gateway) propose(ctx context.Context, t *core.Turn, u core.User, a *core.Answer, q *asking,
	now time.Time) error {
	s := effect.StandingSubject{Source: lastInput(t)}
	var quoted []string
	for _, e := range a.Effects {
		if p, ok := e.(effect.ProposeInstruction); ok && !slices.Contains(s.Texts, p.Text) {
			s.Texts, quoted = append(s.Texts, p.Text), append(quoted, quote(p.Text))
		}
	}
	if len(s.Texts) == 0 {
		return nil
	}
	ask, err := newApproval(t, "S", effect.ApproveStanding, s, now)
	if err != nil {
		return err
	}
	w := say(g.language(u.Settings))
	return g.askAlso(ctx, t, u, a, q, ask,
		fmt.Sprintf(w.AskAlways, strings.Join(quoted, " · "))+"\n"+w.AskAlwaysYes)
}
