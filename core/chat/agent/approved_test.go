package agent

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/audit"
	"github.com/everthread/everthread/core/llm/llmtest"
	"github.com/everthread/everthread/core/store"
)

// auditJournal is a journal that records audit results.
type auditJournal struct {
	memoryJournal
	told []audit.Result
}

func (j *auditJournal) Record(ctx context.Context, u core.UserID, c store.CallRecord) error {
	j.told = append(j.told, c.Result)
	return j.memoryJournal.Record(ctx, u, c)
}

// TestJournal_begunCallIsNotRepeated checks an allowed call whose process died while it
// ran: its result stays unknown, and a different call is made.
func TestJournal_begunCallIsNotRepeated(t *testing.T) {
	t.Parallel()
	calls, journal := 0, &auditJournal{}
	run := func(arguments string) string {
		req := request(llmtest.Replies(llmtest.Call(wish("1", "mail", arguments)), llmtest.Say("so it is")),
			registry(t, counted(&calls, func() { panic("the power is gone") })))
		req.Journal = journal
		out, err := Run(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		return out.Messages[1].Text
	}
	run(`{"to":"ann"}`)
	for key, entry := range journal.entries {
		journal.entries[key] = entry[:17] + begunMark // as if the process had died before the result
	}
	if got := run(`{"to":"ann"}`); calls != 1 || !strings.Contains(got, "may have taken effect or not") {
		t.Errorf("%d calls, %q", calls, got)
	}
	if run(`{"to":"bob"}`); calls != 2 {
		t.Errorf("%d calls, want one to bob, too", calls)
	}
	if got := fmt.Sprint(journal.told); got != "[ failed unknown  failed]" {
		t.Errorf("told %s", got)
	}
}

// TestDecided_beginsOnce checks that an approved call is made once: whatever happened to it is what later turns read.
func TestDecided_beginsOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		decided Decided
		broken  error // of the journal
		calls   int
		reads   string
		told    string
	}{
		{Decided{}, nil, 1, "mail 1 to", "[begun done]"},
		{Decided{Used: true}, nil, 0, "may have taken effect or not", "[unknown]"},
		{Decided{Used: true, Result: "mail 7 is out"}, nil, 0, "mail 7 is out", "[]"},
		{Decided{}, core.ErrRefused, 0, "may have taken effect or not", "[begun]"}, // another process began it
	} {
		calls, journal := 0, &auditJournal{memoryJournal: memoryJournal{refuses: c.broken}}
		req := request(llmtest.Replies(llmtest.Say("so it is")), registry(t, counted(&calls, func() {})))
		c.decided.Approval, c.decided.Yes, c.decided.Call = 5, true, wish("1", "mail", `{"to":"ann"}`)
		req.Journal, req.Decided = journal, &c.decided
		out, err := Run(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		if got := out.Messages[1].Text; calls != c.calls ||
			!strings.Contains(got, c.reads) || fmt.Sprint(journal.told) != c.told {
			t.Errorf("%+v: %d calls, told %v, the model read %q", c.decided, calls, journal.told, got)
		}
	}
}

// TestDecided_settlesTheCall checks that the call about which the person decided is not made again in the turn, however
// the model writes it, although the model would make it without foreign words as well.
func TestDecided_settlesTheCall(t *testing.T) {
	t.Parallel()
	for _, yes := range []bool{true, false} {
		calls := 0
		again := wish("2", "mail", `{ "to" : "ann" }`)
		req := request(llmtest.Replies(llmtest.Call(again), llmtest.Call(again), llmtest.Say("done")),
			registry(t, counted(&calls, func() {})))
		req.Journal, req.Tainted, req.Foreign = &memoryJournal{}, true, make([]bool, len(req.Messages))
		req.Permit = func(_ core.Tool, tainted bool) Verdict {
			if tainted {
				return Ask
			}
			return Allow
		}
		req.Decided = &Decided{Approval: 1, Call: wish("1", "mail", `{"to":"ann"}`), Yes: yes}
		out, err := Run(t.Context(), req)
		if want := map[bool]int{true: 1}[yes]; err != nil || calls != want || out.Question != nil {
			t.Errorf("yes %t: %d calls, question %v, %v", yes, calls, out.Question, err)
		}
	}
}
