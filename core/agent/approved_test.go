package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/llm/llmtest"
)

// auditJournal is a journal that records audit results.
type auditJournal struct {
	memoryJournal
	told []core.AuditResult
}

func (j *auditJournal) Record(ctx context.Context, u core.UserID, c core.CallRecord) error {
	j.told = append(j.told, c.Result)
	return j.memoryJournal.Record(ctx, u, c)
}

// TestAnAllowedCallThatWasBegunIsNotRepeated checks an allowed call whose process died while it
// ran: its result stays unknown, and a different call is made.
func TestAnAllowedCallThatWasBegunIsNotRepeated(t *testing.T) {
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

// TestACallThatWasBegunIsUnknownNotRepeated checks a call whose process died after the approval:
// the next process reports its result as unknown, and so does the one after it.
func TestACallThatWasBegunIsUnknownNotRepeated(t *testing.T) {
	t.Parallel()
	calls, journal := 0, &auditJournal{}
	call := wish("1", "mail", `{"to":"ann"}`)
	again := func() Outcome {
		req := request(llmtest.Replies(llmtest.Say("so it is")), registry(t, counted(&calls, func() {})))
		req.Journal, req.Decided = journal, &Decided{Call: call, Yes: true}
		out, err := Run(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	again()
	if calls != 1 || !slices.Equal(journal.told, []core.AuditResult{core.ResultBegun, core.ResultDone}) {
		t.Fatalf("%d calls, told %v", calls, journal.told)
	}
	for key := range journal.entries {
		journal.entries[key] = begunMark // as if the process had died before the result
	}
	journal.told = nil
	for n := range 2 {
		out := again()
		if calls != 1 || !strings.Contains(out.Messages[1].Text, "may have taken effect or not") {
			t.Errorf("run %d: %d calls, %q", n, calls, out.Messages[1].Text)
		}
	}
	if fmt.Sprint(journal.told) != "[unknown]" {
		t.Errorf("told %v", journal.told)
	}
}
