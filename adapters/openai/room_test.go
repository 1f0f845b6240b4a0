package openai_test

import (
	"strings"
	"testing"

	"github.com/everthread/everthread/adapters/openai"
	"github.com/everthread/everthread/core/llm/tokens"
)

// TestTools_leaveNoRoom checks that a request whose instructions and tools exceed the model's
// window is refused with OpenAI's error, and stores nothing.
func TestTools_leaveNoRoom(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *openai.Options) { o.ExtrasRoom, o.Tokens = 500, tokens.New() })
	ask := func(words int) string {
		return `{"model":"everthread","messages":[{"role":"system","content":"` + strings.Repeat("briefly ", words/2) +
			`"},{"role":"user","content":"a"}],"tools":[{"type":"function","function":{"name":"edit","description":"` +
			strings.Repeat("change ", words/2) + `"}}]}`
	}
	res, text := w.chat(ask(700))
	if e := readError(t, text); res.StatusCode != 400 || e.Code != "context_length_exceeded" || e.Param != "tools" ||
		!strings.Contains(e.Message, "at most 500") {
		t.Errorf("%d %s", res.StatusCode, text)
	}
	if n := len(w.questions()); n != 0 {
		t.Errorf("%d messages were accepted", n)
	}
	if res, text = w.chat(ask(300)); res.StatusCode != 200 {
		t.Errorf("%d %s", res.StatusCode, text)
	}
}
