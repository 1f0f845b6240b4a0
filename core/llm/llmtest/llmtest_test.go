package llmtest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everthread/everthread/core"
)

func TestReply_piecesEndWithFinish(t *testing.T) {
	t.Parallel()
	m := Replies(Reply{Text: "héllo wörld", Pieces: 4})
	var text []string
	var last core.Delta
	for d, err := range m.Stream(t.Context(), core.ModelRequest{MaxTokens: 7}) {
		if err != nil {
			t.Fatal(err)
		}
		if d.Text != "" {
			text = append(text, d.Text)
		}
		last = d
	}
	if strings.Join(text, "") != "héllo wörld" || len(text) < 2 {
		t.Errorf("pieces = %q", text)
	}
	if last.Finish != core.FinishStop || last.Model != "scripted" {
		t.Errorf("last = %+v", last)
	}
	if got := m.Requests(); len(got) != 1 || got[0].MaxTokens != 7 {
		t.Errorf("requests = %+v", got)
	}
}

func TestReplies_inOrderThenTheLast(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	m := Replies(Call(core.ToolCall{ID: "1", Name: "x"}), Fail(broken))
	for i, want := range []error{nil, broken, broken} {
		var got error
		for _, err := range m.Stream(t.Context(), core.ModelRequest{}) {
			got = err
		}
		if !errors.Is(got, want) {
			t.Errorf("call %d: %v, want %v", i, got, want)
		}
	}
}

func TestReply_delayAndStallObeyTheContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := Replies(Reply{Text: "a", Delay: time.Second, Stall: true})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		start, got := time.Now(), error(nil)
		for _, err := range m.Stream(ctx, core.ModelRequest{}) {
			got = err
		}
		if !errors.Is(got, context.DeadlineExceeded) || time.Since(start) != time.Minute {
			t.Errorf("ended with %v after %s", got, time.Since(start))
		}
	})
}
