package engine

import (
	"cmp"
	"context"
	"time"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/chat/prompt"
	"github.com/everthread/everthread/core/store"
)

// budgets returns the configured bounds of prompts.
func budgets(c configs.Config) prompt.Budgets {
	return prompt.Budgets{Raw: c.Context.TodayRawTokens, TodaySummary: c.Context.TodaySummaryTokens,
		Last: c.Context.LastConversationTokens, Loops: c.Context.OpenLoopsTokens, News: c.Context.NewsTokens,
		Target: c.Context.TargetTokens, Cap: c.Context.TotalTokens, MaxHistoryMessages: c.Context.MaxHistoryMessages,
		MaxContextTokens: c.Context.MaxContextTokens, ContextWindow: c.LLM.Smallest(), MaxOutput: c.LLM.Output(),
		Results: c.Room().Results, LongBudget: LongBudget(c), LongThreshold: c.Context.Long.CompressThreshold,
		LongRaw: LongRaw(c), MinTurns: c.Context.MinTurns, Silence: c.Context.Silence, Pressure: c.Summaries.Pressure}
}

// leastResults is the number of tokens that tools may return in any turn, callTokens that of a tool call itself.
const (
	leastResults = 200
	callTokens   = 40
)

// results bounds the tokens that the tools of a turn may return: the configured number, or
// what its prompt leaves of the window.
func (ts *Turns) results(p store.Prompt, output int) int {
	c := ts.Config.Agent
	left := ts.Config.LLM.Usable() - promptTokens(p) - p.Snapshot.ToolTokens - output - c.MaxSteps*callTokens
	return max(leastResults, min(c.ToolTokens, left))
}

// step bounds the tokens of one call of the model, prompt and answer.
func step(c configs.Config, s core.Settings) int {
	most := c.Context.TotalTokens
	if strategy(c, s) == prompt.Long {
		most = LongBudget(c)
	}
	return most + c.LLM.Output() + maxSchema
}

// Reserve returns what a turn reserves of the day's budget before its first call: full is
// that call, and a last one with the results of its tools; least is one call.
func (ts *Turns) Reserve(s core.Settings) (full, least int) {
	return 2*step(ts.Config, s) + ts.Config.Agent.ToolTokens, step(ts.Config, s)
}

// TaskBudget returns the budget that bounds the turn of a task when it is due.
func (ts *Turns) TaskBudget(u core.User, now time.Time) store.Budget {
	s := u.Settings
	b := store.Budget{TokensPerDay: ts.Config.Limits.Daily().Of(u), TaskTokensPerDay: ts.Config.Limits.TaskTokensPerDay,
		Closed: ts.Closed(s), Day: ts.Calendar.Day(s, now).Label}
	b.Reserve, b.Least = ts.Reserve(s)
	return b
}

// maxSchema bounds the descriptions of tools, in tokens.
const maxSchema = 3000

// LongBudget bounds the tokens of a prompt of the strategy long, by the models' windows and
// by the day's tokens, so that these suffice for several turns.
func LongBudget(c configs.Config) int {
	most := min(c.Context.Long.Budget, c.LLM.Smallest()-maxSchema-c.LLM.Output())
	if r := c.Room(); r.Short() {
		most = min(most, r.Prompt)
	}
	if c.Limits.TokensPerDay > 0 {
		most = min(most, c.Limits.TokensPerDay/8)
	}
	return max(most, c.Context.TotalTokens)
}

// LongRaw returns how many of the newest tokens are never compressed: the configured
// number, at most four fifths of where compression starts. The default is at most a third
// of that, so that small budgets are divided as large ones are.
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

// Closed returns until when the tokens of all users are used up; zero: they are not.
func (ts *Turns) Closed(s core.Settings) time.Time {
	return ts.Ledger.Closed(context.Background(), step(ts.Config, s))
}

// Over returns until when the budget of a user's day is used up; zero: it is not.
func (ts *Turns) Over(ctx context.Context, user core.UserID) (time.Time, error) {
	u, err := ts.Users.User(ctx, user)
	if err != nil {
		return time.Time{}, err
	}
	if until := ts.Closed(u.Settings); !until.IsZero() {
		return until, nil
	}
	limit := ts.Config.Limits.Daily().Of(u)
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
