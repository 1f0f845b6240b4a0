package command

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/text"
	"github.com/everthread/everthread/core/trust"
	"github.com/everthread/everthread/core/words"
)

// loops lists open loops, stale ones separately.
func (c *Commands) loops(ctx context.Context, r *request) (core.Outcome, error) {
	open, err := c.Store.Loops(ctx, r.user.ID, listed)
	if err != nil || len(open) == 0 {
		return r.say(r.words.NoLoops), err
	}
	parts := map[bool][]core.Loop{} // by whether they are stale
	for _, l := range open {
		parts[l.Stale(r.now)] = append(parts[l.Stale(r.now)], l)
	}
	line := func(l core.Loop) string {
		mentioned := c.name(r, c.Calendar.Day(r.user.Settings, l.Mentioned).Label)
		return planned(int64(l.ID), l.Text, mentioned+r.origin(l.Tainted))
	}
	var text string
	for n, title := range []string{r.words.LoopsTitle, r.words.StaleTitle} {
		if part := parts[n == 1]; len(part) > 0 {
			text += list(title, part, line, "", "").Text
		}
	}
	return core.Outcome{Text: text + fmt.Sprintf(r.words.LoopsMore, open[0].ID)}, nil
}

// oneLine returns a text as one line of at most 300 characters.
func oneLine(s string) string { return text.Shorten(text.OneLine(s), 300) }

// mostLoops bounds the open loops that are searched for a number.
const mostLoops = 1000

// done closes loops by the numbers that /loops shows.
func (c *Commands) done(ctx context.Context, r *request) (core.Outcome, error) {
	ids, ok := numbers(r.arg)
	if !ok {
		return r.say(r.words.DoneWhich), nil
	}
	open, err := c.Store.Loops(ctx, r.user.ID, mostLoops)
	if err != nil {
		return core.Outcome{}, err
	}
	return r.each(ids, r.words.NoLoop, func(id int64) (string, core.Effect, error) {
		l, err := pick(open, id, func(l core.Loop) core.LoopID { return l.ID })
		return fmt.Sprintf(r.words.LoopDone, oneLine(l.Text)), core.CloseLoop{Loop: l.ID, At: r.now}, err
	})
}

// numbers parses one to ten different numbers.
func numbers(s string) ([]int64, bool) {
	var out []int64
	for _, f := range strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == ',' || r == '\n' || r == '#' }) {
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil || n <= 0 {
			return nil, false
		}
		if !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out, len(out) > 0 && len(out) <= 10
}

// usage shows how much of the day's budget is used.
func (c *Commands) usage(ctx context.Context, r *request) (core.Outcome, error) {
	used, reserved, err := c.Store.UsageOf(ctx, r.user.ID, r.today.Label)
	if err != nil {
		return core.Outcome{}, err
	}
	tasks, err := c.usageOfTasks(ctx, r)
	if err != nil {
		return core.Outcome{}, err
	}
	all, err := c.usageOfAll(ctx, r)
	if err != nil {
		return core.Outcome{}, err
	}
	all = tasks + all
	limit := c.Defaults.TokensPerDay
	if limit <= 0 {
		return core.Outcome{Text: fmt.Sprintf(r.words.UsageFree, words.Number(r.lang, used)) + all}, nil
	}
	text := fmt.Sprintf(r.words.UsageOf, words.Number(r.lang, used), words.Number(r.lang, limit),
		words.Percent(r.lang, used*100/limit))
	if reserved > 0 {
		text += "\n" + fmt.Sprintf(r.words.UsageReserved, words.Number(r.lang, reserved))
	}
	if used >= limit {
		text += "\n" + fmt.Sprintf(r.words.UsageOver, r.today.End.In(c.location(r)).Format("15:04"))
	}
	return core.Outcome{Text: text + all}, nil
}

// usageOfTasks returns a line with the day's tokens of tasks, if there are any.
func (c *Commands) usageOfTasks(ctx context.Context, r *request) (string, error) {
	days, err := c.Store.UsageDays(ctx, r.user.ID, r.today.Label, r.today.Label)
	if err != nil || len(days) == 0 || days[0].Tasks == 0 {
		return "", err
	}
	return "\n" + fmt.Sprintf(r.words.UsageOfTasks, words.Number(r.lang, days[0].Tasks)), nil
}

// usageOfAll returns a line with the day's tokens of all users, for the owner, if they have
// a limit.
func (c *Commands) usageOfAll(ctx context.Context, r *request) (string, error) {
	limit := c.Defaults.AllTokensPerDay
	if limit <= 0 || r.user.Role != core.RoleOwner || r.in.Program && !trust.Allows(r.in.Grants, core.CanAdmin) {
		return "", nil
	}
	used, _, err := c.Store.SpentAll(ctx, r.now.UTC().Format(time.DateOnly), r.now)
	if err != nil {
		return "", err
	}
	return "\n" + fmt.Sprintf(r.words.UsageOfAll, words.Number(r.lang, used), words.Number(r.lang, limit),
		words.Percent(r.lang, used*100/limit)), nil
}
