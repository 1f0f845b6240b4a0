package engine

import (
	"cmp"
	"context"
	"time"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/prompt"
)

// budgets bounds prompts as it is configured.
func budgets(c configs.Config) prompt.Budgets {
	return prompt.Budgets{Raw: c.Context.TodayRawTokens, TodaySummary: c.Context.TodaySummaryTokens,
		Last: c.Context.LastConversationTokens, Loops: c.Context.OpenLoopsTokens, News: c.Context.NewsTokens,
		Target: c.Context.TargetTokens, Cap: c.Context.TotalTokens, MaxHistoryMessages: c.Context.MaxHistoryMessages,
		MaxContextTokens: c.Context.MaxContextTokens, ContextWindow: c.LLM.Smallest(), MaxOutput: c.LLM.MaxOutputTokens,
		Results:    c.Room().Results,
		LongBudget: LongBudget(c), LongThreshold: c.Context.Long.CompressThreshold, LongRaw: LongRaw(c),
		MinTurns: c.Context.MinTurns, Silence: c.Context.Silence, Pressure: c.Summaries.Pressure}
}

// leastResults is what tools may return in any turn, and callTokens what a call of one
// takes beside that.
const (
	leastResults = 200
	callTokens   = 40
)

// results is what the tools of a turn may return: what is configured, or what its prompt
// leaves of the window.
func (ts *Turns) results(p core.Prompt, output int) int {
	c := ts.Config.Agent
	left := ts.Config.LLM.Usable() - promptTokens(p) - p.Snapshot.ToolTokens - output -
		c.MaxSteps*callTokens
	return max(leastResults, min(c.ToolTokens, left))
}

const defaultInstructions = `You are a personal assistant in one conversation that never ends. The person writes to you from several messaging apps; it is always the same conversation. Answer in their language, plainly and to the point, in Markdown. What you know of earlier days stands in the summaries below. If you do not know something, say so.`

// step is how many tokens one call of the model may take: prompt and answer.
func step(c configs.Config, s core.Settings) int {
	most := c.Context.TotalTokens
	if strategy(c, s) == prompt.Long {
		most = LongBudget(c)
	}
	return most + c.LLM.MaxOutputTokens + maxSchema
}

// Reserve is what a turn reserves of the day's budget before its first call: that
// call, and a last one with the results of its tools; or at least the one.
func (ts *Turns) Reserve(s core.Settings) (full, least int) {
	return 2*step(ts.Config, s) + ts.Config.Agent.ToolTokens, step(ts.Config, s)
}

// TaskBudget is what the turn of a task reserves when it is due, and of how much.
func (ts *Turns) TaskBudget(s core.Settings, now time.Time) core.Budget {
	b := core.Budget{TokensPerDay: ts.Config.Limits.TokensPerDay, TaskTokensPerDay: ts.Config.Limits.TaskTokensPerDay,
		Closed: ts.Closed(s), Day: ts.Calendar.Day(s, now).Label}
	b.Reserve, b.Least = ts.Reserve(s)
	return b
}

// maxSchema bounds the descriptions of tools, in tokens.
const maxSchema = 3000

// LongBudget is what a prompt of the strategy long may take of the models' windows,
// and of a day's tokens, so that these are enough for some turns.
func LongBudget(c configs.Config) int {
	most := min(c.Context.Long.Budget, c.LLM.Smallest()-maxSchema-c.LLM.MaxOutputTokens)
	if r := c.Room(); r.Short() {
		most = min(most, r.Prompt)
	}
	if c.Limits.TokensPerDay > 0 {
		most = min(most, c.Limits.TokensPerDay/8)
	}
	return max(most, c.Context.TotalTokens)
}

// LongRaw is how many of the newest tokens stay as they are. What is configured
// holds within four fifths of where compression starts; the default is at most a
// third of it, so that small budgets are shared as large ones are.
func LongRaw(c configs.Config) int {
	x := c.Context.Long
	starts := int(float64(LongBudget(c)) * x.CompressThreshold)
	if x.RawRecentTokens == configs.Default().Context.Long.RawRecentTokens {
		return min(x.RawRecentTokens, starts/3)
	}
	return min(x.RawRecentTokens, starts*4/5)
}

func strategy(c configs.Config, s core.Settings) string {
	return cmp.Or(s.Strategy, c.Context.Strategy)
}

// Closed is until when the tokens of all are used up; zero: they are not.
func (ts *Turns) Closed(s core.Settings) time.Time {
	return ts.Ledger.Closed(context.Background(), step(ts.Config, s))
}

// Over is until when the budget of a user's day is used up; zero: it is not.
func (ts *Turns) Over(ctx context.Context, user core.UserID) (time.Time, error) {
	u, err := ts.Users.User(ctx, user)
	if err != nil {
		return time.Time{}, err
	}
	if until := ts.Closed(u.Settings); !until.IsZero() {
		return until, nil
	}
	limit := ts.Config.Limits.TokensPerDay
	if limit == 0 {
		return time.Time{}, nil
	}
	today := ts.Calendar.Day(u.Settings, ts.Now())
	used, reserved, err := ts.Store.UsageOf(ctx, user, today.Label)
	if err != nil || used+reserved == 0 || used+reserved+step(ts.Config, u.Settings) <= limit {
		return time.Time{}, err
	}
	return today.End, nil
}
