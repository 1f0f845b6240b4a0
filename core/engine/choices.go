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
	out := core.ModelChoice{Name: name, Model: nameOf(l), Prices: core.Prices{Prompt: l.Prices.Prompt,
		Cached: l.Prices.Cached, Completion: l.Prices.Completion, Currency: cmp.Or(l.Currency, "USD")}}
	if e, ok := catalog.Lookup(l.Model); ok && l.Prices == (configs.Prices{}) && l.BaseURL == "" {
		out.Prices = core.Prices{Prompt: e.Prompt, Completion: e.Completion, Currency: "USD"}
	}
	return out
}

// nameOf returns the name of a model for people.
func nameOf(l configs.LLM) string { return cmp.Or(l.Model, l.Provider) }

// Prices returns the prices of all configured models: the default, the choices, that of summaries, and the fallbacks of
// each. The calls of every user cost these, whatever models they may choose.
func Prices(c configs.Config) core.PriceList {
	all := []configs.LLM{c.LLM}
	for _, name := range slices.Sorted(maps.Keys(c.LLM.Choices)) {
		all = append(all, c.LLM.Choices[name].LLM)
	}
	if c.SummaryLLM.Provider != "" {
		all = append(all, c.SummaryLLM)
	}
	for _, l := range slices.Clone(all) {
		all = append(all, l.Fallbacks...)
	}
	out := make(core.PriceList, len(all))
	for i, l := range all {
		out[i] = modelChoice("", l)
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
