package core

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// equal compares costs, which are sums of fractions.
func (c Cost) equal(d Cost) bool {
	return c.Unknown == d.Unknown && slices.Equal(c.Currencies(), d.Currencies()) &&
		!slices.ContainsFunc(c.Currencies(), func(x string) bool { return math.Abs(c.Of[x]-d.Of[x]) > 1e-9 })
}

func prices() PriceList {
	return PriceList{
		{Model: "large", Prices: Prices{Prompt: 2, Cached: 0.5, Completion: 10, Currency: "EUR"}},
		{Name: "cheap", Model: "vendor/small", Prices: Prices{Prompt: 0.25, Completion: 2, Currency: "USD"}},
		{Name: "home", Model: "qwen3:8b"},
		{Name: "again", Model: "large", Prices: Prices{Prompt: 99, Currency: "EUR"}},
	}
}

func TestPrices_costOfTokens(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		p    Prices
		u    Usage
		want float64
	}{
		"all kinds":          {Prices{Prompt: 2, Cached: 0.5, Completion: 10}, Usage{Prompt: 1_000_000, Cached: 400_000, Completion: 20_000}, 1.2 + 0.2 + 0.2},
		"no price of caches": {Prices{Prompt: 2, Completion: 10}, Usage{Prompt: 1_000_000, Cached: 400_000, Completion: 20_000}, 2 + 0.2},
		"only caches":        {Prices{Prompt: 2, Cached: 0.5}, Usage{Prompt: 10, Cached: 10}, 0.000005},
		"more cached":        {Prices{Prompt: 2, Cached: 0.5}, Usage{Prompt: 10, Cached: 20}, 0.00001},
		"nothing":            {Prices{Prompt: 2}, Usage{}, 0},
	} {
		if got := c.p.Cost(c.u); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}

func TestPriceList_namesOfServers(t *testing.T) {
	t.Parallel()
	for model, want := range map[string]float64{"large": 2, "LARGE": 2, "large-2026-08-06": 2, "large-20260806": 2,
		"large@2026-08-06": 2, "openai/large": 2, "large-latest": 2, "large-0613": 2, "small": 0.25, "vendor/small": 0.25,
		"large-mini": 0, "larger": 0, "qwen3:8b": 0, "qwen3": 0, "": 0} {
		if got := prices().Of(model); got.Prompt != want || got.Known() != (want > 0) {
			t.Errorf("%s: got %+v, want %v", model, got, want)
		}
	}
}

func TestPriceList_costOfABill(t *testing.T) {
	t.Parallel()
	bill := SpentOn(ForAnswer, "large-2026-08-06", Usage{Prompt: 1_000_000, Cached: 400_000, Completion: 20_000}). // 1.6 EUR
															And(SpentOn(ForTask, "small", Usage{Prompt: 200_000, Completion: 10_000})). // 0.05 + 0.02 USD
															And(SpentOn(ForSummary, "small", Usage{Prompt: 40_000})).                   // 0.01 USD
															And(SpentOn(ForHeard, "large", Usage{Prompt: 700}))                         // speech is not priced so
	for name, c := range map[string]struct{ got, want Cost }{
		"all":      {prices().Cost(bill), Cost{map[string]float64{"EUR": 1.6, "USD": 0.08}, true}},
		"answers":  {prices().Cost(bill.Only(ForAnswer, ForTask)), Cost{map[string]float64{"EUR": 1.6, "USD": 0.07}, false}},
		"of small": {prices().Cost(bill.Of("small")), Cost{map[string]float64{"USD": 0.08}, false}},
		"at home":  {CostAt(prices()[2].Prices, bill), Cost{nil, true}},
		"at large": {CostAt(prices()[0].Prices, bill.Only(ForAnswer, ForTask)), Cost{map[string]float64{"EUR": 2.1}, false}}, // 0.8 × 2 + 0.4 × 0.5 + 0.03 × 10
		"at cheap": {CostAt(prices()[1].Prices, bill.Only(ForAnswer, ForTask)), Cost{map[string]float64{"USD": 0.36}, false}},
		"nothing":  {prices().Cost(nil), Cost{}},
	} {
		if !c.got.equal(c.want) {
			t.Errorf("%s: got %+v, want %+v", name, c.got, c.want)
		}
	}
}

func TestBill_sums(t *testing.T) {
	t.Parallel()
	bill := SpentOn(ForSummary, "small", Usage{Prompt: 3}).And(SpentOn(ForAnswer, "large", Usage{Prompt: 1, Completion: 1})).
		And(SpentOn(ForAnswer, "small", Usage{Prompt: 10, Cached: 4}))
	again := bill.And(bill)
	if bill.Total() != (Usage{14, 4, 1}) || again.Total() != (Usage{28, 8, 2}) || len(again) != 3 || again[0].Calls != 2 {
		t.Errorf("got %+v and %+v", bill, again)
	}
	if got, want := bill.ByPurpose(), []Spent{{Purpose: ForAnswer, Calls: 2, Usage: Usage{11, 4, 1}},
		{Purpose: ForSummary, Calls: 1, Usage: Usage{Prompt: 3}}}; !slices.Equal(got, want) {
		t.Errorf("by purpose: got %+v, want %+v", got, want)
	}
	if got, want := bill.ByModel(), []Spent{{Model: "small", Calls: 2, Usage: Usage{13, 4, 0}},
		{Model: "large", Calls: 1, Usage: Usage{1, 0, 1}}}; !slices.Equal(got, want) {
		t.Errorf("by model: got %+v, want %+v", got, want)
	}
}

func TestSpentOn_nameThatCanBeStored(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 60)
	for name, want := range map[string]string{"gpt": "gpt", " a\x00b\n": "ab", "x\xff": "x", long: long[:100], "": ""} {
		if got := SpentOn(ForAnswer, name, Usage{})[0].Model; got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}
