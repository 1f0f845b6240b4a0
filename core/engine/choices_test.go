package engine

import (
	"testing"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
)

func TestPrices_ofEveryConfiguredModel(t *testing.T) {
	t.Parallel()
	c := configs.Default()
	c.LLM = configs.LLM{Provider: "openai", Model: "large", Prices: configs.Prices{Prompt: 2, Cached: 0.5, Completion: 8}, Currency: "EUR",
		Fallbacks: []configs.LLM{{Provider: "openai", Model: "spare", Prices: configs.Prices{Prompt: 3}, Currency: "EUR"}},
		Choices: map[string]configs.Choice{
			"listed": {LLM: configs.LLM{Provider: "openai", Model: "gpt-4o", Currency: "EUR"}},
			"home":   {LLM: configs.LLM{Provider: "openai", Model: "gpt-4o-mini", BaseURL: "http://127.0.0.1:1/v1", Currency: "EUR"}},
			"hers":   {LLM: configs.LLM{Provider: "openai", Model: "own", Prices: configs.Prices{Prompt: 5}, Currency: "CHF"}, Users: []int{9}},
		}}
	c.SummaryLLM = configs.LLM{Provider: "openai", Model: "scribe", Prices: configs.Prices{Completion: 4}, Currency: "EUR"}
	list := Prices(c)
	for model, want := range map[string]core.Prices{
		"large":       {Prompt: 2, Cached: 0.5, Completion: 8, Currency: "EUR"},
		"spare":       {Prompt: 3, Currency: "EUR"},
		"gpt-4o":      {Prompt: 2.5, Completion: 10, Currency: "USD"}, // as the catalogue has it
		"gpt-4o-mini": {Currency: "EUR"},                              // of a server of one's own: not known
		"own":         {Prompt: 5, Currency: "CHF"},
		"scribe":      {Completion: 4, Currency: "EUR"},
		"other":       {},
	} {
		if got := list.Of(model); got != want {
			t.Errorf("%s: got %+v, want %+v", model, got, want)
		}
	}
}
