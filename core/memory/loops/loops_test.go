package loops_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/chat/agent"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/llm/tokens"
	"github.com/everthread/everthread/core/memory/loops"
	"github.com/everthread/everthread/core/memory/recall"
	"github.com/everthread/everthread/core/text/i18n"
)

// noon is Thursday 19 November 2026.
func noon() time.Time { return time.Date(2026, 11, 19, 12, 0, 0, 0, time.UTC) }

// pairs reads a file of pairs of texts.
func pairs(t *testing.T, name string) [][2]string {
	t.Helper()
	f, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out [][2]string
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if a, b, ok := strings.Cut(lines.Text(), "|"); ok && !strings.HasPrefix(a, "#") {
			out = append(out, [2]string{strings.TrimSpace(a), strings.TrimSpace(b)})
		}
	}
	if len(out) < 40 {
		t.Fatalf("%s: got %d pairs, want at least 40", name, len(out))
	}
	return out
}

// analyzer returns recall's analyzer in the shipped languages.
var analyzer = sync.OnceValue(func() core.Analyzer {
	a, err := recall.NewAnalyzer(i18n.Languages())
	if err != nil {
		panic(err)
	}
	return a
})

func match(text string, open []core.Loop) (core.LoopID, bool) {
	return loops.Match(analyzer(), text, open)
}

func TestMatch(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{"same.txt": true, "different.txt": false} {
		for _, p := range pairs(t, name) {
			for _, p := range [][2]string{p, {p[1], p[0]}} {
				id, got := match(p[0], []core.Loop{{ID: 7, Text: p[1]}})
				if got != want || got != (id == 7) {
					t.Errorf("%q and %q: got %v, %d", p[0], p[1], got, id)
				}
			}
		}
	}
}

func TestMatch_takesTheNearest(t *testing.T) {
	t.Parallel()
	open := []core.Loop{
		{ID: 1, Text: "Book the train", Mentioned: noon()},
		{ID: 2, Text: "Book the train to Lyon", Mentioned: noon().Add(-time.Hour)},
		{ID: 3, Text: "Call the dentist", Mentioned: noon().Add(-2 * time.Hour)},
		{ID: 4, Text: "call dentist", Mentioned: noon()},
	}
	for text, want := range map[string]core.LoopID{"Book the train to Lyon!": 2, "Book the train": 1,
		"The dentist: call": 4, "Water the plants": 0} {
		if id, ok := match(text, open); id != want || ok != (want != 0) {
			t.Errorf("%q: got %d", text, id)
		}
	}
}

// TestMatch_properties checks that a text matches the loop that has the same text in other case and
// spacing, and that an empty text matches none.
func TestMatch_properties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		text := rapid.String().Draw(r, "text")
		other := rapid.StringMatching(`[a-z ]{0,30}`).Draw(r, "other")
		open := []core.Loop{{ID: 1, Text: other}, {ID: 2, Text: " " + text + "  "}}
		id, ok := match(text, open)
		if ok != (strings.TrimSpace(text) != "") {
			r.Fatalf("got %d, %v", id, ok)
		}
		if _, ok := match("", open); ok && strings.TrimSpace(text) != "" && strings.TrimSpace(other) != "" {
			r.Fatal("an empty text matches a loop")
		}
	})
}

// ring is an in-memory store of loops.
type ring struct {
	open []core.Loop
	last int64
	err  error
}

func (s *ring) Loops(_ context.Context, user core.UserID, limit int) ([]core.Loop, error) {
	var out []core.Loop
	for _, l := range s.open {
		if l.User == user && len(out) < limit {
			out = append(out, l)
		}
	}
	return out, s.err
}

func (s *ring) NewID(context.Context, core.UserID) (int64, error) {
	s.last++
	return s.last, s.err
}

func (s *ring) apply(effects ...core.Effect) string {
	var b strings.Builder
	for _, e := range effects {
		if o, ok := e.(effect.OpenLoop); ok {
			s.open = append(s.open, o.Loop)
		}
		fmt.Fprintf(&b, "-> %T %+v\n", e, e)
	}
	return b.String()
}

func use(t testing.TB, s *ring, tool, arguments string) (core.ToolResult, error) {
	t.Helper()
	for _, x := range (&loops.Loops{Store: s, Analyzer: analyzer()}).Tools() {
		if x.Spec().Name == tool {
			return x.Use(t.Context(), core.ToolUse{User: 1, Inputs: []core.MessageID{41, 42}, Now: noon(),
				Arguments: json.RawMessage(arguments)})
		}
	}
	t.Fatalf("no tool %s", tool)
	return core.ToolResult{}, nil
}

func TestTools(t *testing.T) {
	t.Parallel()
	s := &ring{last: 10, open: []core.Loop{{User: 2, ID: 5, Text: "Buy seeds"}}}
	for _, c := range []struct{ tool, arguments, want string }{
		{"loops_open", `{"text":" Book the\ntrain to Lyon "}`, `{"id":11,"status":"opened"}
-> effect.OpenLoop {Loop:{User:1 ID:11 Text:Book the train to Lyon State:open Sources:[41 42] Tainted:false OpenedAt:2026-11-19 12:00:00 +0000 UTC Mentioned:2026-11-19 12:00:00 +0000 UTC Due:0001-01-01 00:00:00 +0000 UTC Asked:false} At:2026-11-19 12:00:00 +0000 UTC}`},
		{"loops_open", `{"text":"The train to Lyon is not booked yet"}`,
			`{"id":11,"status":"exists","text":"Book the train to Lyon"}
-> effect.MentionLoop {Loop:11 At:2026-11-19 12:00:00 +0000 UTC}`},
		{"loops_open", `{"text":"Book a hotel in Lyon"}`, `{"id":12,"status":"opened"}
-> effect.OpenLoop {Loop:{User:1 ID:12 Text:Book a hotel in Lyon State:open Sources:[41 42] Tainted:false OpenedAt:2026-11-19 12:00:00 +0000 UTC Mentioned:2026-11-19 12:00:00 +0000 UTC Due:0001-01-01 00:00:00 +0000 UTC Asked:false} At:2026-11-19 12:00:00 +0000 UTC}`},
		{"loops_open", `{"text":""}`, "Error: text has no words; say in one short line what is open"},
		{"loops_open", `{"text":"🎂"}`, "Error: text has no words; say in one short line what is open"},
		{"loops_open", `{"text":"` + strings.Repeat("é", 301) + `"}`,
			"Error: text has 301 characters; at most 300 fit: one short line"},
		{"loops_open", `{"text":7}`, `Error: the arguments are not as described: "text" cannot be of type number`},
		{"loops_close", `{"loop":"11"}`, `{"id":11,"status":"closed","text":"Book the train to Lyon"}
-> effect.CloseLoop {Loop:11 At:2026-11-19 12:00:00 +0000 UTC Text:Book the train to Lyon Tainted:false}`},
		{"loops_close", `{"loop":12}`, `{"id":12,"status":"closed","text":"Book a hotel in Lyon"}
-> effect.CloseLoop {Loop:12 At:2026-11-19 12:00:00 +0000 UTC Text:Book a hotel in Lyon Tainted:false}`},
		{"loops_close", `{"loop":"loop #12"}`, `{"id":12,"status":"closed","text":"Book a hotel in Lyon"}
-> effect.CloseLoop {Loop:12 At:2026-11-19 12:00:00 +0000 UTC Text:Book a hotel in Lyon Tainted:false}`},
		{"loops_close", `{"loop":"the hotel"}`, `{"id":12,"status":"closed","text":"Book a hotel in Lyon"}
-> effect.CloseLoop {Loop:12 At:2026-11-19 12:00:00 +0000 UTC Text:Book a hotel in Lyon Tainted:false}`},
		{"loops_close", `{"loop":"Lyon"}`,
			"Error: 2 open loops have these words: 11 (Book the train to Lyon), 12 (Book a hotel in Lyon); name one by its number"},
		{"loops_close", `{"loop":"seeds"}`, "Error: no open loop has these words; name one by its number"},
		{"loops_close", `{"loop":5}`, "Error: there is no open loop 5"},
		{"loops_close", `{"loop":99}`, "Error: there is no open loop 99"},
		{"loops_close", `{}`, "Error: no open loop has these words; name one by its number"},
		{"loops_close", `{"loop":"🎂"}`, "Error: no open loop has these words; name one by its number"},
	} {
		r, err := use(t, s, c.tool, c.arguments)
		got := strings.TrimSpace(r.Text + "\n" + s.apply(r.Effects...))
		if err != nil {
			got = "Error: " + err.Error()
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s %.60s: %s", c.tool, c.arguments, d)
		}
	}
}

func TestStoreFailures(t *testing.T) {
	t.Parallel()
	s := &ring{err: errors.New("the disk is full")}
	for tool, arguments := range map[string]string{"loops_open": `{"text":"a loop"}`, "loops_close": `{"loop":1}`} {
		if r, err := use(t, s, tool, arguments); !errors.Is(err, s.err) || r.Effects != nil {
			t.Errorf("%s: %+v, %v", tool, r, err)
		}
	}
}

func TestSpecs(t *testing.T) {
	t.Parallel()
	r, err := agent.NewRegistry((&loops.Loops{}).Tools()...)
	if err != nil {
		t.Fatal(err)
	}
	if n := r.Tokens(tokens.New()); n > 130 {
		t.Errorf("the schemas take %d tokens, want at most 130", n)
	}
}

func FuzzMatch(f *testing.F) {
	f.Add("Book the train to Lyon", "l’évier ’’' l' \u0300")
	f.Fuzz(func(t *testing.T, a, b string) {
		_, one := match(a, []core.Loop{{ID: 1, Text: b}})
		_, other := match(b, []core.Loop{{ID: 1, Text: a}})
		if one != other {
			t.Errorf("%q, %q: %v, %v", a, b, one, other)
		}
	})
}
