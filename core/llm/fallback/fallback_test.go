package fallback

import (
	"context"
	"errors"
	"testing"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/llm/llmtest"
)

func broken(kind core.ModelErrorKind, text string) llmtest.Reply {
	return llmtest.Reply{Text: text, Err: &core.ModelError{Kind: kind, Err: errors.New("broken")}}
}

func TestFallback(t *testing.T) {
	t.Parallel()
	answer := llmtest.Reply{Text: "hello", Model: "second"}
	cases := []struct {
		name          string
		first, second llmtest.Reply
		text, model   string
		kind          core.ModelErrorKind
	}{
		{"the first answers", llmtest.Reply{Text: "hi", Model: "first"}, answer, "hi", "first", ""},
		{"down", broken(core.ModelDown, ""), answer, "hello", "second", ""},
		{"busy", broken(core.ModelBusy, ""), answer, "hello", "second", ""},
		{"wrong key", broken(core.ModelAuth, ""), answer, "hello", "second", ""},
		{"wrong address", broken(core.ModelConfig, ""), answer, "hello", "second", ""},
		{"rejected is the request's own", broken(core.ModelRejected, ""), answer, "", "", core.ModelRejected},
		{"too long is the request's own", broken(core.ModelTooLong, ""), answer, "", "", core.ModelTooLong},
		{"not after the first word", broken(core.ModelDown, "Well"), answer, "Well", "", core.ModelDown},
		{"both down", broken(core.ModelDown, ""), broken(core.ModelAuth, ""), "", "", core.ModelDown},
		{"one that passes is worth more", broken(core.ModelAuth, ""), broken(core.ModelBusy, ""), "", "", core.ModelBusy},
		{"else the first", broken(core.ModelAuth, ""), broken(core.ModelConfig, ""), "", "", core.ModelAuth},
	}
	for _, c := range cases {
		var text, model string
		var failed error
		for d, err := range New(llmtest.Replies(c.first), llmtest.Replies(c.second)).Stream(t.Context(),
			core.ModelRequest{}) {
			text, model, failed = text+d.Text, d.Model, err
		}
		if text != c.text || model != c.model || kind(failed) != c.kind {
			t.Errorf("%s: %q by %q, %v", c.name, text, model, failed)
		}
	}
}

func TestStream_stopAsksNobodyElse(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	second := &llmtest.Model{}
	for _, err := range New(llmtest.Replies(broken(core.ModelDown, "")), second).Stream(ctx, core.ModelRequest{}) {
		if err == nil {
			t.Error("got an answer after the stop")
		}
	}
	if len(second.Requests()) != 0 {
		t.Error("the second model was asked")
	}
}

func TestStream_consumerMayLeave(t *testing.T) {
	t.Parallel()
	second := &llmtest.Model{}
	for range New(llmtest.Replies(llmtest.Reply{Text: "a b c", Pieces: 3}), second).Stream(t.Context(),
		core.ModelRequest{}) {
		break
	}
	if len(second.Requests()) != 0 {
		t.Error("the second model was asked")
	}
}
