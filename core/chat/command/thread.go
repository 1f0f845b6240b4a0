package command

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/text/markup"
)

// listed bounds the items of a list.
const listed = 30

func (c *Commands) threads(ctx context.Context, r *request) (core.Outcome, error) {
	all, err := c.Store.Threads(ctx, r.user.ID, listed)
	if err != nil || len(all) == 0 {
		return r.say(r.words.NoThreads), err
	}
	lines := []string{r.words.ThreadsTitle, "", "- " + r.words.ContinuousName + r.here(0)}
	for _, t := range all {
		opened := c.name(r, c.Calendar.Day(r.user.Settings, t.CreatedAt).Label)
		r.mark(!t.Own)
		lines = append(lines, "- **"+strconv.FormatInt(int64(t.ID), 10)+"** "+markup.Escape(t.Title)+" · "+
			opened+r.here(t.ID))
	}
	lines = append(lines, "", fmt.Sprintf(r.words.ThreadsMore, all[0].ID))
	return core.Outcome{Text: strings.Join(lines, "\n")}, nil
}

// here marks the current thread of the identity that sent the command.
func (r *request) here(t core.ThreadID) string {
	if r.at.Thread != t {
		return ""
	}
	return " · " + r.words.Here
}

// thread switches to a thread by its number, or opens one with a title.
func (c *Commands) thread(ctx context.Context, r *request) (core.Outcome, error) {
	switch {
	case r.arg == "" && r.at.Thread == 0:
		return r.say(r.words.InContinuous), nil
	case r.arg == "":
		t, err := c.Store.Thread(ctx, r.user.ID, r.at.Thread)
		return r.sayf(r.words.InThread, bold(t.Title)), err
	}
	if n, err := strconv.ParseInt(strings.TrimPrefix(r.arg, "#"), 10, 64); err == nil {
		return c.useThread(ctx, r, core.ThreadID(n))
	}
	name := title(r.arg)
	if rest := strings.Fields(r.arg); rest[0] == "new" || rest[0] == "NEW" {
		name = title(strings.Join(rest[1:], " "))
	}
	if name == "" {
		return r.say(r.words.ThreadUntitled), nil
	}
	out := r.sayf(r.words.ThreadOpened, bold(name))
	return out.With(effect.OpenThread{Identity: r.at.ID, Title: name, At: r.now}), nil
}

func (c *Commands) useThread(ctx context.Context, r *request, id core.ThreadID) (core.Outcome, error) {
	t, err := c.Store.Thread(ctx, r.user.ID, id)
	if missing(err) {
		return r.sayf(r.words.NoThread, id), nil
	}
	if err != nil {
		return core.Outcome{}, err
	}
	if t.Mode == core.ModeContinuous {
		return c.continuous(ctx, r)
	}
	return r.sayf(r.words.ThreadUsed, bold(t.Title)).With(effect.UseThread{Identity: r.at.ID, Thread: t.ID}), nil
}

func (c *Commands) continuous(_ context.Context, r *request) (core.Outcome, error) {
	if r.at.Thread == 0 {
		return r.say(r.words.InContinuous), nil
	}
	return r.say(r.words.BackContinuous).With(effect.UseThread{Identity: r.at.ID}), nil
}

func (c *Commands) retry(ctx context.Context, r *request) (core.Outcome, error) {
	if r.user.Settings.Paused {
		return r.say(r.words.RetryPaused), nil
	}
	b, err := c.Store.Backlog(ctx, r.user.ID, r.at.Thread)
	if err != nil {
		return core.Outcome{}, err
	}
	if !b.Turn && b.Pending == 0 {
		return r.say(r.words.RetryNothing), nil
	}
	out := r.say(r.words.Retrying)
	if b.Running {
		out = r.say(r.words.RetryRunning)
	}
	return out.With(effect.RetryTurn{Thread: r.at.Thread, At: r.now}), nil
}

// recent bounds the messages among which the last answer is looked for.
const recent = 50

// goOn has the last answer of this thread continued, if it is unfinished and nothing else waits for an answer.
func (c *Commands) goOn(ctx context.Context, r *request) (core.Outcome, error) {
	if r.user.Settings.Paused {
		return r.say(r.words.RetryPaused), nil
	}
	b, err := c.Store.Backlog(ctx, r.user.ID, r.at.Thread)
	if err != nil {
		return core.Outcome{}, err
	}
	if b.Turn || b.Pending > 0 {
		return r.say(r.words.ContinueBusy), nil
	}
	ms, _, err := c.Store.Timeline(ctx, store.TimelineQuery{User: r.user.ID, Thread: r.at.Thread, Limit: recent})
	if err != nil {
		return core.Outcome{}, err
	}
	for _, m := range slices.Backward(ms) {
		if m.Role == core.RoleAssistant && m.Kind == core.KindChat {
			if m.Unfinished != "" && !m.Redacted {
				return core.Outcome{Asks: core.ContinueCommand}, nil
			}
			break
		}
	}
	return r.say(r.words.ContinueNothing), nil
}

// stop stops the running turn of this thread. It requests that in any case, because a turn
// may have begun since the check.
func (c *Commands) stop(ctx context.Context, r *request) (core.Outcome, error) {
	b, err := c.Store.Backlog(ctx, r.user.ID, r.at.Thread)
	if err != nil {
		return core.Outcome{}, err
	}
	out := r.say(r.words.StopNothing)
	switch {
	case b.Turn:
		out = r.say(r.words.Stopped)
	case b.Pending > 0 && !r.user.Settings.Paused:
		out = r.say(r.words.StopPending)
	}
	return out.With(effect.StopTurn{Thread: r.at.Thread}), nil
}
