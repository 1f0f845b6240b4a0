package postgres_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/llm/tokens"
	"github.com/everthread/everthread/core/prompt"
	"github.com/everthread/everthread/core/store/storetest"
)

func BenchmarkTurn(b *testing.B) {
	for _, history := range []int{1_000, 200_000} {
		b.Run(fmt.Sprint(history), func(b *testing.B) { storetest.BenchTurn(b, database, history) })
	}
}

func BenchmarkWindow(b *testing.B) {
	for _, history := range []int{1_000, 1_000_000} {
		b.Run(fmt.Sprint(history), func(b *testing.B) { storetest.BenchWindow(b, database, history, prompter()) })
	}
}

// prompter builds prompts as the gateway does.
func prompter() storetest.Prompter {
	counter := tokens.New()
	input := func(t core.Turn, now time.Time) prompt.Input {
		return prompt.Input{Turn: t, Now: now, Tokens: counter, Static: []prompt.Static{{Name: "instructions", Text: "You are a friendly assistant."}}}
	}
	return storetest.Prompter{
		Query: func(t core.Turn, now time.Time) core.WindowQuery { return prompt.Query(input(t, now)) },
		Build: func(t core.Turn, w core.Window, now time.Time) (*core.Epoch, error) {
			in := input(t, now)
			in.Window = w
			p, err := prompt.Build(in)
			return p.Epoch, err
		},
	}
}
