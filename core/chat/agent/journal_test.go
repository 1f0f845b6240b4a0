package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/llm/llmtest"
	"github.com/everthread/everthread/core/store"
)

// memoryJournal keeps records in memory.
type memoryJournal struct {
	mu      sync.Mutex
	entries map[string]string
	lasting []store.CallRecord // that may have changed something
	broken  error              // of every look-up
	refuses error              // of every record
}

func (j *memoryJournal) Lookup(_ context.Context, u core.UserID, t core.TurnID, step, index int) (string, bool, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	text, ok := j.entries[fmt.Sprint(u, t, step, index)]
	return text, ok, j.broken
}

func (j *memoryJournal) Record(ctx context.Context, u core.UserID, c store.CallRecord) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if j.refuses != nil {
		return j.refuses
	}
	if j.entries == nil {
		j.entries = map[string]string{}
	}
	j.entries[fmt.Sprint(u, c.Turn, c.Step, c.Index)] = c.Text
	same := func(o store.CallRecord) bool { return o.Turn == c.Turn && o.Step == c.Step && o.Index == c.Index }
	if j.lasting = slices.DeleteFunc(j.lasting, same); c.Changes {
		j.lasting = append(j.lasting, c)
	}
	return nil
}

func (j *memoryJournal) Earlier(_ context.Context, _ core.UserID, t core.TurnID,
	_ []core.MessageID) ([]store.CallRecord, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(j.lasting), func(c store.CallRecord) bool { return c.Turn == t }), j.broken
}

// A second turn for the same message, as after a retry or for another answer, repeats no call that may have changed
// something, however the model writes it. Calls beyond those are made.
func TestJournal_anotherTurnRepeatsNoCall(t *testing.T) {
	t.Parallel()
	calls, journal := 0, &memoryJournal{}
	tools := registry(t, counted(&calls, func() {}))
	said := func(turn core.TurnID, arguments ...string) string {
		var wishes []core.ToolCall
		for n, a := range arguments {
			wishes = append(wishes, wish(fmt.Sprint(n), "mail", a))
		}
		req := request(llmtest.Replies(llmtest.Call(wishes...), llmtest.Say("sent")), tools)
		req.Journal, req.Call.Turn = journal, turn
		out, err := Run(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		return out.Messages[1].Text
	}
	first := said(1, `{"to":"ann","n":1}`)
	if again := said(2, `{ "n": 1, "to": "ann" }`); calls != 1 || again != first {
		t.Errorf("%d calls, %q and then %q", calls, first, again)
	}
	if said(3, `{"to":"ann","n":1}`, `{"to":"ann","n":1}`); calls != 2 {
		t.Errorf("%d calls after two wishes, of which one was granted before", calls)
	}
	refused := func(context.Context, core.ToolUse) (core.ToolResult, error) {
		calls++
		return core.ToolResult{}, errors.New("the connection was refused")
	}
	tools = registry(t, fakeTool{name: "mail", external: true, do: refused})
	if said(6, `{"to":"cid"}`); calls != 3 {
		t.Errorf("%d calls", calls)
	}
	if said(7, `{"to":"cid"}`); calls != 4 {
		t.Errorf("%d calls: what failed is not tried again", calls)
	}
	calls = 2
	begun := fingerprint(wish("", "mail", `{"to":"bob"}`)) + begunMark
	journal.lasting = []store.CallRecord{{Turn: 4, Changes: true, Text: begun}}
	if got := said(5, `{"to":"bob"}`); calls != 2 || !strings.Contains(got, "not known") {
		t.Errorf("%d calls, %q after a call whose end is unknown", calls, got)
	}
}

// counted returns an outside tool that counts its calls.
func counted(calls *int, after func()) fakeTool {
	return fakeTool{name: "mail", external: true, do: func(_ context.Context, c core.ToolUse) (core.ToolResult, error) {
		*calls++
		after()
		return core.ToolResult{Text: fmt.Sprintf("mail %d to %s", *calls, c.Arguments)}, nil
	}}
}

func TestJournal_replaysInARerun(t *testing.T) {
	t.Parallel()
	calls, journal := 0, &memoryJournal{}
	tools := registry(t, counted(&calls, func() {}))
	for _, arguments := range []string{`{"to":"ann"}`, `{"to":"ann"}`, `{"to":"bob"}`} {
		req := request(llmtest.Replies(llmtest.Call(wish("1", "mail", arguments)), llmtest.Say("sent")), tools)
		req.Journal = journal
		out, err := Run(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("mail %d to %s", calls, arguments); out.Messages[1].Text != want {
			t.Errorf("result %q, want %q", out.Messages[1].Text, want)
		}
	}
	if calls != 2 {
		t.Errorf("%d calls, want one for ann and one for bob", calls)
	}
}

func TestJournal_recordsThoughStopped(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	calls, journal := 0, &memoryJournal{}
	req := request(llmtest.Replies(llmtest.Call(wish("1", "mail", `{}`))), registry(t, counted(&calls, cancel)))
	req.Journal = journal
	if _, err := Run(ctx, req); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if len(journal.entries) != 1 {
		t.Error("the call was not recorded")
	}
}

func TestJournal_brokenEndsTheRun(t *testing.T) {
	t.Parallel()
	calls, broken := 0, errors.New("disk full")
	req := request(llmtest.Replies(llmtest.Call(wish("1", "mail", `{}`))), registry(t, counted(&calls, func() {})))
	req.Journal = &memoryJournal{broken: broken}
	if _, err := Run(t.Context(), req); !errors.Is(err, broken) || calls != 0 {
		t.Errorf("%v after %d calls", err, calls)
	}
}
