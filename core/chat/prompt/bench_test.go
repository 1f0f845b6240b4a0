package prompt_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/chat/prompt"
	"github.com/everthread/everthread/core/llm/tokens"
)

// small fails if a stored text is counted: only short texts may be.
type small struct {
	core.Tokenizer
	t fatal
}

func (s small) Count(text string) int {
	if strings.Contains(text, "bread") || len(text) > 400 {
		s.t.Fatalf("a stored text is counted: %.40q", text)
	}
	return s.Tokenizer.Count(text)
}

// TestBuild_countsNoStoredText checks that within an epoch only marks and frames are counted.
func TestBuild_countsNoStoredText(t *testing.T) {
	t.Parallel()
	in := ongoing(t)
	in.Tokens = small{in.Tokens, t}
	if p, err := prompt.Build(in); err != nil || p.Epoch != nil || p.Snapshot.Included != 201 {
		t.Fatalf("%d messages, %v", p.Snapshot.Included, err)
	}
}

// ongoing returns the input of a turn in an epoch of 200 messages.
func ongoing(t fatal) prompt.Input {
	w := newWorld(t, tokens.New())
	w.budgets.Cap = 20000
	r := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		w.exchange("bread "+prose(r, 30), "bread "+prose(r, 60))
	}
	in := w.begin(core.Message{Role: core.RoleUser, Text: "bread and now?"})
	in.Window = w.window(in.Turn, prompt.Query(in))
	return in
}

func BenchmarkBuild(b *testing.B) {
	in := ongoing(b)
	b.ReportAllocs()
	for b.Loop() {
		if p, err := prompt.Build(in); err != nil || p.Epoch != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkBuildNewEpoch(b *testing.B) {
	w := newWorld(b, tokens.New())
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		w.exchange(prose(r, 30), prose(r, 60))
	}
	w.summarize(1, 390)
	in := w.begin(core.Message{Role: core.RoleUser, Text: "and now?"})
	in.Window = w.window(in.Turn, prompt.Fresh(prompt.Query(in)))
	b.ReportAllocs()
	for b.Loop() {
		if p, err := prompt.Build(in); err != nil || p.Epoch == nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkQuery(b *testing.B) {
	in := ongoing(b)
	for b.Loop() {
		prompt.Query(in)
	}
}
