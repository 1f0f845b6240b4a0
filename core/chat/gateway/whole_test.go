package gateway_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/chat/gateway"
	"github.com/everthread/everthread/core/store"
)

// TestAnswer_unfinishedEndsWithAMark cuts answers off in an open block of code: the mark and the button are no part of
// it, and of no stored text.
func TestAnswer_unfinishedEndsWithAMark(t *testing.T) {
	t.Parallel()
	const text = "Here:\n\n```go\nfunc main("
	for _, c := range []struct {
		finish core.Finish
		mark   string
	}{
		{core.FinishStop, ""}, {core.FinishTools, ""},
		{core.FinishLength, "… The answer got too long and was cut off here. /continue goes on."},
		{core.FinishRefused, "The model's provider stopped the answer here. /continue goes on."},
		{core.FinishCut, "… The connection to the model broke off here. /continue goes on."},
	} {
		t.Run(string(c.finish), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil)
			w.brain.finish = c.finish
			w.brain.script = func(context.Context, string, core.Progress) (string, error) { return text, nil }
			w.say("show me")
			w.sent(1)
			got := w.line.parts[0]
			want := core.Part{Text: "Here:\n\nfunc main(",
				Spans: []core.Span{{Kind: core.SpanPre, Start: 7, End: 17, Value: "go"}}}
			early := core.Finish("")
			if c.mark != "" {
				early = c.finish
				want.Text += "\n\n" + c.mark
				want.Spans = append(want.Spans, core.Span{Kind: core.SpanItalic, Start: 19, End: 19 + len(c.mark)})
				want.Buttons = []core.Button{{Label: "Continue", Command: "/continue"}}
			}
			got.Key = ""
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("sent:\n%s", d)
			}
			if m := w.last(); m.Text != text || m.Unfinished != early {
				t.Errorf("stored %q, unfinished %q", m.Text, m.Unfinished)
			}
		})
	}
}

// last returns the last message of the conversation.
func (w *world) last() core.Message {
	w.t.Helper()
	ms, _, err := w.store.Timeline(w.t.Context(), store.TimelineQuery{User: 1, Limit: 1})
	must(w.t, err)
	return ms[0]
}

// TestContinue_isATurnOfItsOwn stores what the person did as a message, whatever they typed, and answers it.
func TestContinue_isATurnOfItsOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.brain.finish = core.FinishLength
	w.say("tell me a story")
	w.sent(1)
	w.brain.mu.Lock()
	w.brain.finish = core.FinishStop
	w.brain.mu.Unlock()
	w.say("!continue")
	if got := w.sent(2); got != "re: /continue" {
		t.Errorf("got %q", got)
	}
	ms, _, err := w.store.Timeline(t.Context(), store.TimelineQuery{User: 1, Limit: 10})
	must(t, err)
	var got []string
	for _, m := range ms {
		got = append(got, string(m.Role)+" "+string(m.Kind)+" "+m.Text+" "+string(m.Unfinished))
	}
	want := []string{"user chat tell me a story ", "assistant chat re: tell me a story length",
		"user chat /continue ", "assistant chat re: /continue "}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestThoughtAlone_isToldPlainly tells the owner what to set, and a member what to send; neither is tried again.
func TestThoughtAlone_isToldPlainly(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *gateway.Options) { o.Settings.GiveUpAfter = time.Hour })
	w.brain.script = func(context.Context, string, core.Progress) (string, error) {
		return "", &core.ModelError{Kind: core.ModelRejected, Err: core.ErrThoughtOnly}
	}
	w.say("hello")
	owner := w.sent(1)
	if !strings.Contains(owner, "thinking") || !strings.Contains(owner, "llm.max_output_tokens") ||
		!strings.Contains(owner, "llm.reasoning_effort") {
		t.Errorf("the owner reads %q", owner)
	}
	ask := w.member()
	ask("hello")
	if got := w.sent(2); !strings.Contains(got, "thinking") || !strings.Contains(got, "/retry") ||
		strings.Contains(got, "llm.") {
		t.Errorf("a member reads %q", got)
	}
	w.brain.called(t, 2)
	if w.brain.calls != 2 {
		t.Errorf("the model was called %d times", w.brain.calls)
	}
}

// TestRefusal_isToldOnce tells that the model refused before its first word, once, without another try.
func TestRefusal_isToldOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *gateway.Options) { o.Settings.GiveUpAfter = time.Hour })
	w.brain.script = func(context.Context, string, core.Progress) (string, error) {
		return "", &core.ModelError{Kind: core.ModelRejected, Err: errors.New("the provider refused to answer")}
	}
	w.member()("hello")
	if got := w.sent(1); !strings.Contains(got, "didn't accept") {
		t.Errorf("a member reads %q", got)
	}
	if w.brain.calls != 1 {
		t.Errorf("the model was called %d times", w.brain.calls)
	}
}

// TestAnEmptyAnswer_isAboutItsMessage gives up a message that the model answers with nothing after a few tries, says so,
// and answers what comes from another app, without taking it up again.
func TestAnEmptyAnswer_isAboutItsMessage(t *testing.T) {
	t.Parallel()
	away := &core.ModelError{Kind: core.ModelDown, Err: errors.New("away")}
	empty := &core.ModelError{Kind: core.ModelRejected, Err: core.ErrEmpty}
	for name, c := range map[string]struct {
		errs  []error // of the first tries; nil: an answer; the last is repeated
		calls int
		says  string
	}{
		"always":              {[]error{empty}, 4, "wrote nothing"},
		"by chance":           {[]error{empty, nil}, 2, "re: odd"},
		"twice":               {[]error{empty, empty, nil}, 3, "re: odd"},
		"after other trouble": {[]error{away, away, away, empty}, 4, "wrote nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			begin := time.Now()
			w := newWorld(t, func(o *gateway.Options) {
				o.Now = func() time.Time { return begin.Add(10 * time.Since(begin)) }
				o.Jobs.Now, o.Jobs.Lease, o.Settings.GiveUpAfter = o.Now, time.Minute, 10*time.Minute
			})
			odd := 0
			w.brain.script = func(_ context.Context, in string, _ core.Progress) (string, error) {
				if !strings.Contains(in, "odd") {
					return "re: " + in, nil
				}
				odd++
				if err := c.errs[min(odd, len(c.errs))-1]; err != nil {
					return "", err
				}
				return "re: " + in, nil
			}
			w.say("odd")
			if got := w.sent(1); !strings.Contains(got, c.says) || odd != c.calls {
				t.Errorf("after %d tries the person reads %q", odd, got)
			}
			w.also("other app")
			if got := w.sent(2); got != "re: other app" || odd != c.calls {
				t.Errorf("after %d tries the other app reads %q", odd, got)
			}
		})
	}
}

// also receives a message of Ada from another app.
func (w *world) also(text string) {
	w.t.Helper()
	at := w.address()
	at.External = "77"
	_, err := w.people().AddIdentity(w.t.Context(), core.Identity{User: 1, Address: at, LastUsed: time.Now()})
	must(w.t, err)
	w.receive(core.Inbound{Address: at, EventID: "also", NativeID: "also", Kind: core.InMessage, Text: text,
		SentAt: time.Now()})
}
