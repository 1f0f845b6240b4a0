package engine

import (
	"cmp"
	"maps"
	"slices"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/llm/catalog"
)

// Choices lists the models that a user may choose, the default first: its Name is empty. Without choices there is only
// that one.
func (ts *Turns) Choices(user core.UserID) []core.ModelChoice {
	out := []core.ModelChoice{modelChoice("", ts.Config.LLM)}
	for _, name := range slices.Sorted(maps.Keys(ts.Config.LLM.Choices)) {
		if choice := ts.Config.LLM.Choices[name]; choice.May(int(user)) {
			out = append(out, modelChoice(name, choice.LLM))
		}
	}
	return out
}

func modelChoice(name string, l configs.LLM) core.ModelChoice {
	out := core.ModelChoice{Name: name, Model: cmp.Or(l.Model, l.Provider), Prompt: l.Prices.Prompt,
		Completion: l.Prices.Completion, Currency: cmp.Or(l.Currency, "USD")}
	if e, ok := catalog.Lookup(l.Model); ok && l.Prices == (configs.Prices{}) && l.BaseURL == "" {
		out.Prompt, out.Completion, out.Currency = e.Prompt, e.Completion, "USD"
	}
	return out
}

// chosen returns the turns of the model for one turn: a task's own, else that of its person.
func (ts *Turns) chosen(t *core.Turn, u core.User) *Turns {
	if t.Task > 0 {
		return ts.choice(u.ID, t.Model)
	}
	return ts.choice(u.ID, u.Settings.Model)
}

// choice returns the turns of a choice; those of the default if there is none of that name for the user.
func (ts *Turns) choice(user core.UserID, name string) *Turns {
	if c := ts.choices[name]; c != nil && ts.Config.LLM.Choices[name].May(int(user)) {
		return c
	}
	return ts
}
