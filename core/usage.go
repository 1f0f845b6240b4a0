package core

import (
	"slices"
	"strings"
	"unicode"
)

// DailyTokens are the tokens that a user may use a day; 0: no limit.
type DailyTokens struct{ Person, Group int }

// Of returns those of a user.
func (d DailyTokens) Of(u User) int {
	if u.Group() {
		return d.Group
	}
	return d.Person
}

// Usage is the cost of calls in tokens, as the provider reports it.
type Usage struct {
	Prompt     int `json:"prompt"`
	Cached     int `json:"cached"` // the part of Prompt served from the provider's cache
	Completion int `json:"completion"`
}

// Add returns the sum of both.
func (u Usage) Add(v Usage) Usage {
	return Usage{u.Prompt + v.Prompt, u.Cached + v.Cached, u.Completion + v.Completion}
}

// Tokens returns the tokens that count in budgets.
func (u Usage) Tokens() int { return u.Prompt + u.Completion }

// Purpose is what calls of a provider were made for. Every kind of call has a name that people understand.
type Purpose string

// Purposes.
const (
	ForAnswer    Purpose = "answer"
	ForTask      Purpose = "task"
	ForSummary   Purpose = "summary"
	ForEmbedding Purpose = "embedding"
	ForHeard     Purpose = "heard"   // recordings that were transcribed
	ForSpoken    Purpose = "spoken"  // answers that were spoken
	ForProgram   Purpose = "program" // requests of the person's programs outside the conversation
)

// Purposes lists all purposes in the order in which they are shown.
func Purposes() []Purpose {
	return []Purpose{ForAnswer, ForTask, ForSummary, ForEmbedding, ForHeard, ForSpoken, ForProgram}
}

// Spent is what calls of one model took for one purpose.
type Spent struct {
	Model   string // as it names itself in its answers; empty: it is not known
	Purpose Purpose
	Calls   int
	Usage
	// Amount is what speech is measured in: seconds that were heard, or characters that were spoken. 0 otherwise.
	Amount int
}

// SpentOn returns what one call of a model took. Of the name, which a server gives, it keeps what can be shown.
func SpentOn(p Purpose, model string, u Usage) Bill {
	const most = 100 // bytes
	model = strings.ToValidUTF8(model[:min(len(model), most)], "")
	model = strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return -1
	}, model))
	return Bill{{Model: model, Purpose: p, Calls: 1, Usage: u}}
}

// Bill is what calls took, with one entry for each model and purpose. Its zero value is empty.
type Bill []Spent

// And returns the sum of both bills. Neither changes.
func (b Bill) And(other Bill) Bill {
	out := slices.Clone(b)
	for _, s := range other {
		i := slices.IndexFunc(out, func(o Spent) bool { return o.Model == s.Model && o.Purpose == s.Purpose })
		if i < 0 {
			out = append(out, s)
			continue
		}
		out[i].Calls, out[i].Amount, out[i].Usage = out[i].Calls+s.Calls, out[i].Amount+s.Amount, out[i].Add(s.Usage)
	}
	return out
}

// Total returns the tokens of all entries.
func (b Bill) Total() (u Usage) {
	for _, s := range b {
		u = u.Add(s.Usage)
	}
	return u
}
