package postgres_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/chat/prompt"
	"github.com/everthread/everthread/core/llm/tokens"
	"github.com/everthread/everthread/core/memory/recall"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/store/storetest"
)

func BenchmarkTurn(b *testing.B) {
	storetest.BenchTurn(b, database, os.Getenv("EVERTHREAD_TEST_MILLION") != "")
}

func BenchmarkReceive(b *testing.B) { storetest.BenchReceive(b, database, 1_000) }

func BenchmarkWindow(b *testing.B) {
	for _, history := range []int{1_000, 1_000_000} {
		b.Run(fmt.Sprint(history), func(b *testing.B) { storetest.BenchWindow(b, database, history, prompter()) })
	}
}

// BenchmarkSearch fills large databases only if EVERTHREAD_TEST_MILLION is set.
func BenchmarkSearch(b *testing.B) {
	for name, s := range map[string]storetest.Searches{
		"10000":                 {Mine: 10_000},
		"10000_among_a_million": {Mine: 10_000, Users: 10_000, Each: 100},
		"1000000":               {Mine: 1_000_000},
	} {
		if s.Mine+s.Users*s.Each > 10_000 && os.Getenv("EVERTHREAD_TEST_MILLION") == "" {
			continue
		}
		a := analyzer(b)
		s.Analyzer, s.Terms = a, func(query string) (terms []string) {
			for _, w := range a.Query(query).Words {
				terms = append(terms, w.Terms...)
			}
			return terms
		}
		b.Run(name, func(b *testing.B) { storetest.BenchSearch(b, database, s) })
	}
}

func BenchmarkTogether(b *testing.B) {
	for _, every := range []time.Duration{0, 2 * time.Second} {
		b.Run("index_every_"+every.String(), func(b *testing.B) {
			storetest.BenchTogether(b, database,
				analyzer(b), 64, every)
		})
	}
}

func BenchmarkNearest(b *testing.B) {
	for _, n := range []int{1000, 5000, 20_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) { storetest.BenchNearest(b, database, n) })
	}
}

func analyzer(b testing.TB) *recall.Analyzer {
	a, err := recall.NewAnalyzer(nil)
	if err != nil {
		b.Fatal(err)
	}
	return a
}

// prompter builds prompts as the gateway does.
func prompter() storetest.Prompter {
	counter := tokens.New()
	input := func(t core.Turn, now time.Time) prompt.Input {
		return prompt.Input{Turn: t, Now: now, Tokens: counter,
			Static: []prompt.Static{{Name: "instructions", Text: "You are a friendly assistant."}}}
	}
	return storetest.Prompter{
		Query: func(t core.Turn, now time.Time) store.WindowQuery { return prompt.Query(input(t, now)) },
		Build: func(t core.Turn, w store.Window, now time.Time) (*store.Epoch, error) {
			in := input(t, now)
			in.Window = w
			p, err := prompt.Build(in)
			return p.Epoch, err
		},
	}
}
