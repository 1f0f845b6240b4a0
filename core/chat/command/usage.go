package command

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/text/i18n"
	"github.com/everthread/everthread/core/text/markup"
	"github.com/everthread/everthread/core/text/times"
	"github.com/everthread/everthread/core/trust"
)

// usage shows how much of the day's budget is used, and what the month took and cost; with a month, only that one.
func (c *Commands) usage(ctx context.Context, r *request) (core.Outcome, error) {
	if r.arg != "" {
		month, ok := times.Month(r.arg, r.today.Label)
		if !ok {
			return r.sayf(r.words.UsageWhich, r.usage("usage")), nil
		}
		text, err := c.usageOfMonth(ctx, r, month)
		return core.Outcome{Text: text}, err
	}
	today, err := c.usageToday(ctx, r)
	if err != nil {
		return core.Outcome{}, err
	}
	month, err := c.usageOfMonth(ctx, r, firstOf(r.today.Label))
	return core.Outcome{Text: today + "\n\n" + month}, err
}

// firstOf returns the first day of the month of a label.
func firstOf(label string) time.Time {
	t, err := time.Parse(time.DateOnly, label)
	if err != nil {
		return time.Time{}
	}
	return t.AddDate(0, 0, 1-t.Day())
}

// usageToday returns how much of the day's budget is used.
func (c *Commands) usageToday(ctx context.Context, r *request) (string, error) {
	used, reserved, err := c.Store.UsageOf(ctx, r.user.ID, r.today.Label)
	if err != nil {
		return "", err
	}
	tasks, err := c.usageOfTasks(ctx, r)
	if err != nil {
		return "", err
	}
	all, err := c.usageOfAll(ctx, r)
	if err != nil {
		return "", err
	}
	all = tasks + all
	limit := c.Defaults.TokensPerDay.Of(r.user)
	if limit <= 0 {
		return fmt.Sprintf(r.words.UsageFree, i18n.Number(r.lang, used)) + all, nil
	}
	text := fmt.Sprintf(r.words.UsageOf, i18n.Number(r.lang, used), i18n.Number(r.lang, limit),
		i18n.Percent(r.lang, used*100/limit))
	if reserved > 0 {
		text += "\n" + fmt.Sprintf(r.words.UsageReserved, i18n.Number(r.lang, reserved))
	}
	if used >= limit {
		text += "\n" + fmt.Sprintf(r.words.UsageOver, r.today.End.In(c.location(r)).Format("15:04"))
	}
	return text + all, nil
}

// usageOfTasks returns a line with the day's tokens of tasks, if there are any.
func (c *Commands) usageOfTasks(ctx context.Context, r *request) (string, error) {
	days, err := c.Store.UsageDays(ctx, r.user.ID, r.today.Label, r.today.Label)
	if err != nil || len(days) == 0 || days[0].Tasks == 0 {
		return "", err
	}
	return "\n" + fmt.Sprintf(r.words.UsageOfTasks, i18n.Number(r.lang, days[0].Tasks)), nil
}

// usageOfAll returns a line with the day's tokens of all users, for the owner, if they have a limit.
func (c *Commands) usageOfAll(ctx context.Context, r *request) (string, error) {
	limit := c.Defaults.AllTokensPerDay
	if limit <= 0 || r.user.Role != core.RoleOwner || r.in.Program && !trust.Allows(r.in.Grants, core.CanAdmin) {
		return "", nil
	}
	used, _, err := c.Store.SpentAll(ctx, r.now.UTC().Format(time.DateOnly), r.now)
	if err != nil {
		return "", err
	}
	return "\n" + fmt.Sprintf(r.words.UsageOfAll, i18n.Number(r.lang, used), i18n.Number(r.lang, limit),
		i18n.Percent(r.lang, used*100/limit)), nil
}

// usageOfMonth returns what a month took and cost, by purpose and by model, and what it would have cost with the models
// that the person may choose.
func (c *Commands) usageOfMonth(ctx context.Context, r *request, month time.Time) (string, error) {
	parts, err := c.Store.UsageParts(ctx, r.user.ID, month.Format(time.DateOnly), month.AddDate(0, 1, -1).Format(time.DateOnly))
	if err != nil {
		return "", err
	}
	name := times.MonthYear(month, r.lang)
	if len(parts) == 0 {
		return fmt.Sprintf(r.words.UsageNothing, name), nil
	}
	var bill core.Bill
	calls := 0
	for _, p := range parts {
		bill = bill.And(core.Bill{p.Spent})
		calls += p.Calls
	}
	n := func(s core.Spent) string { return i18n.Number(r.lang, s.Tokens()) }
	choices := core.PriceList(c.Models(r.user.ID))
	lines := []string{fmt.Sprintf(r.words.UsageMonth, name, i18n.Number(r.lang, bill.Total().Tokens()),
		r.words.UsageCalls.Of(calls), i18n.Cost(r.lang, c.Prices.Cost(bill)))}
	var purposes []string
	for _, s := range bill.ByPurpose() {
		purposes = append(purposes, i18n.Purpose(r.lang, s)+" "+n(s))
	}
	lines = append(lines, strings.Join(purposes, " · "), "")
	for _, s := range bill.ByModel() {
		lines = append(lines, "- "+markup.Escape(i18n.ModelName(r.lang, s.Model, choices))+": "+n(s)+" · "+
			i18n.Cost(r.lang, c.Prices.Cost(bill.Of(s.Model))))
	}
	answers := bill.Only(core.ForAnswer, core.ForTask)
	if len(choices) > 1 && answers.Total().Tokens() > 0 {
		lines = append(lines, "", fmt.Sprintf(r.words.UsageCompare, i18n.Cost(r.lang, c.Prices.Cost(answers))), "")
		for _, m := range choices {
			lines = append(lines, "- "+markup.Escape(i18n.ModelName(r.lang, m.Model, choices))+": "+
				i18n.Cost(r.lang, core.CostAt(m.Prices, answers)))
		}
	}
	return strings.Join(lines, "\n"), nil
}
