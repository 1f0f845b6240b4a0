package plan

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/text/i18n"
	"github.com/everthread/everthread/core/trust"
)

// Late reports whether it is too late to begin the turn of a task.
func (m *Plans) Late(t *core.Turn, now time.Time) bool { return now.Sub(t.Due) > m.orDefault().Expires }

// Failed returns the message about a task's turn that failed or began too late, and its
// effects. server is the error of the model's server; empty for members.
func (m *Plans) Failed(ctx context.Context, u core.User, t *core.Turn, cause core.RunCause, server string,
	now time.Time) (core.Outcome, error) {
	k, err := m.Plan(ctx, u.ID, t.Task)
	if errors.Is(err, core.ErrNotFound) { // it was deleted while it ran
		k, err = core.Plan{User: u.ID, ID: t.Task, Kind: core.PlanTask, State: core.PlanCancelled, Zone: "UTC"}, nil
	}
	if err != nil {
		return core.Outcome{}, fmt.Errorf("read task: %w", err)
	}
	return m.report(u, k, core.Run{Plan: k.ID, Due: t.Due, State: core.RunFailed, Cause: cause}, t.Identity, server, now)
}

// report returns the message about a run that was not done. If the task has failed too often
// in a row, it also pauses the task and asks whether to resume it.
func (m *Plans) report(u core.User, k core.Plan, run core.Run, at core.IdentityID, server string,
	now time.Time) (core.Outcome, error) {
	language := cmp.Or(u.Settings.Language, m.Language)
	w := sayTask(language)
	zone := u.Settings.Location(zoneOf(k.Zone))
	head := w.Failed
	if run.State == core.RunSkipped || run.Cause == core.CauseLate {
		head = w.Skipped
	}
	lines := []string{fmt.Sprintf(head, k.ID, m.Moment(run.Due, zone, language)) + " " + w.Causes[string(run.Cause)]}
	if server != "" {
		lines = append(lines, fmt.Sprintf(w.Server, server))
	}
	if run.Passed > 0 {
		lines = append(lines, w.Passed.Of(run.Passed))
	}
	next := m.Next(k.Cron, k.Zone, now)
	open := k.State == core.PlanActive && !next.IsZero()
	out := core.Outcome{}
	switch failing := run.State == core.RunFailed && run.Cause != core.CauseLate; {
	case open && failing && k.Failures+1 >= core.MaxFailures:
		lines = append(lines, "", fmt.Sprintf(w.Ask, i18n.Number(language, k.Failures+1), k.ID))
		if err := ask(&out, k, run, at, language, now); err != nil {
			return out, err
		}
	case open:
		lines = append(lines, fmt.Sprintf(w.Next, m.Moment(next, zone, language)))
	case k.Cron == "":
		lines = append(lines, w.Once)
	}
	out.Text = strings.Join(lines, "\n")
	return out, nil
}

// ask pauses a task, and adds the question whether to resume it.
func ask(out *core.Outcome, k core.Plan, run core.Run, at core.IdentityID, language string, now time.Time) error {
	out.Effects = []core.Effect{effect.PausePlan{Plan: k.ID, At: now}}
	if at == 0 {
		return nil
	}
	subject, err := json.Marshal(effect.TaskSubject{Resume: k.ID})
	if err != nil {
		return err
	}
	a := effect.Approval{Code: fmt.Sprintf("R%d-%d", k.ID, run.Due.Unix()/60), Kind: effect.ApproveResume, Identity: at,
		Subject: string(subject), AskedAt: now, Expires: now.Add(core.ApprovalLife)}
	out.Effects = append(out.Effects, effect.AskApproval{Approval: a})
	out.Buttons = trust.YesNo(language, a.Code, false)
	return nil
}
