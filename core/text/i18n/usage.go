package i18n

import (
	"fmt"
	"strings"

	"github.com/everthread/everthread/core"
)

// usageWords are the texts about what calls took and cost.
type usageWords struct {
	Purposes                map[core.Purpose]string
	Unknown                 string  // of a price
	AndUnknown              string  // amount
	Seconds, Minutes, Signs Counted // number
	NoModel                 string
}

var ofUsage = In[usageWords]("usage")

// Purpose returns what calls were made for, with the length of the speech, if it is that.
func Purpose(language string, s core.Spent) string {
	w := ofUsage(language)
	switch name := w.Purposes[s.Purpose]; {
	case s.Amount >= 120 && s.Purpose == core.ForHeard:
		return fmt.Sprintf("%s (%s)", name, w.Minutes.Of((s.Amount+30)/60))
	case s.Amount > 0 && s.Purpose == core.ForHeard:
		return fmt.Sprintf("%s (%s)", name, w.Seconds.Of(s.Amount))
	case s.Amount > 0 && s.Purpose == core.ForSpoken:
		return fmt.Sprintf("%s (%s)", name, w.Signs.Of(s.Amount))
	default:
		return name
	}
}

// ModelName returns the name of a model with that of its choice among the listed ones, if there is one.
func ModelName(language, model string, choices core.PriceList) string {
	if m, ok := choices.Find(model); ok && m.Name != "" {
		return fmt.Sprintf("%s (%s)", model, m.Name)
	}
	if model == "" {
		return ofUsage(language).NoModel
	}
	return model
}

// Cost returns what something cost, in each currency; empty: nothing was used.
func Cost(language string, c core.Cost) string {
	w := ofUsage(language)
	var all []string
	for _, currency := range c.Currencies() {
		all = append(all, money(language, c.Of[currency])+"\u00a0"+currency)
	}
	switch said := strings.Join(all, " + "); {
	case !c.Unknown:
		return said
	case said == "":
		return w.Unknown
	default:
		return fmt.Sprintf(w.AndUnknown, said)
	}
}

// money returns an amount with two decimals.
func money(language string, amount float64) string {
	if amount > 0 && amount < 0.01 {
		return "< " + Decimal(language, 0.01, 2)
	}
	return Decimal(language, amount, 2)
}
