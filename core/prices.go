package core

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Prices are the prices of a million tokens. All 0: free or unknown.
type Prices struct {
	Prompt     float64
	Cached     float64 // of prompt tokens from the provider's cache; 0: as the others
	Completion float64
	Currency   string
}

// Known reports whether there is a price.
func (p Prices) Known() bool { return p.Prompt > 0 || p.Cached > 0 || p.Completion > 0 }

// Cost returns what tokens cost at the prices.
func (p Prices) Cost(u Usage) float64 {
	return (float64(max(0, u.Prompt-u.Cached))*p.Prompt + float64(u.Cached)*cmp.Or(p.Cached, p.Prompt) +
		float64(u.Completion)*p.Completion) / 1e6
}

// PriceList holds models with their prices. Where two have the same name, the first counts.
type PriceList []ModelChoice

// Find returns the model with a name as it is in answers, where a vendor may stand before it and a date behind it.
func (l PriceList) Find(model string) (ModelChoice, bool) {
	for _, same := range []func(name string) string{strings.ToLower, undated} {
		if i := slices.IndexFunc(l, func(m ModelChoice) bool { return same(m.Model) == same(model) }); i >= 0 {
			return l[i], true
		}
	}
	return ModelChoice{}, false
}

// Of returns the prices of a model. They are not Known if the list does not have it.
func (l PriceList) Of(model string) Prices {
	m, _ := l.Find(model)
	return m.Prices
}

// undated returns the name of a model without a vendor before it and a date or a version behind it.
func undated(model string) string {
	name := strings.ToLower(model)
	return version.ReplaceAllString(name[strings.LastIndex(name, "/")+1:], "")
}

var version = regexp.MustCompile(`[-@:](20\d\d-?\d\d-?\d\d|\d{4}|latest)$`)

// Cost is what usage cost.
type Cost struct {
	Of      map[string]float64 // by currency
	Unknown bool               // some of it has no known price, and is not in Of
}

// Currencies returns the currencies of a cost, sorted.
func (c Cost) Currencies() []string { return slices.Sorted(maps.Keys(c.Of)) }

// Cost returns what a bill cost at the prices of its models. The prices are of chat models, so what speech cost is not
// known.
func (l PriceList) Cost(b Bill) Cost {
	return costAt(b, func(s Spent) Prices {
		if s.Purpose == ForHeard || s.Purpose == ForSpoken {
			return Prices{}
		}
		return l.Of(s.Model)
	})
}

// CostAt returns what a bill would have cost at other prices.
func CostAt(p Prices, b Bill) Cost { return costAt(b, func(Spent) Prices { return p }) }

func costAt(b Bill, prices func(Spent) Prices) Cost {
	out := Cost{Of: map[string]float64{}}
	for _, s := range b {
		p := prices(s)
		switch {
		case p.Known():
			out.Of[p.Currency] += p.Cost(s.Usage)
		case s.Usage != Usage{}:
			out.Unknown = true
		}
	}
	return out
}

// Only returns the entries of some purposes.
func (b Bill) Only(purposes ...Purpose) (out Bill) {
	for _, s := range b {
		if slices.Contains(purposes, s.Purpose) {
			out = append(out, s)
		}
	}
	return out
}

// Of returns the entries of a model.
func (b Bill) Of(model string) (out Bill) {
	for _, s := range b {
		if s.Model == model {
			out = append(out, s)
		}
	}
	return out
}

// ByPurpose returns the sums of a bill by purpose, in the order of Purposes.
func (b Bill) ByPurpose() []Spent {
	return b.sums(func(s Spent) Spent { s.Model = ""; return s }, func(x, y Spent) int {
		return cmp.Compare(slices.Index(Purposes(), x.Purpose), slices.Index(Purposes(), y.Purpose))
	})
}

// ByModel returns the sums of a bill by model, most tokens first.
func (b Bill) ByModel() []Spent {
	return b.sums(func(s Spent) Spent { s.Purpose = ""; return s }, func(x, y Spent) int {
		return cmp.Or(cmp.Compare(y.Tokens(), x.Tokens()), cmp.Compare(x.Model, y.Model))
	})
}

// sums adds up the entries that are the same without a part, in an order.
func (b Bill) sums(without func(Spent) Spent, order func(x, y Spent) int) []Spent {
	var out Bill
	for _, s := range b {
		out = out.And(Bill{without(s)})
	}
	slices.SortStableFunc(out, order)
	return out
}
