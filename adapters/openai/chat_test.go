package openai_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/sashabaranov/go-openai"

	"github.com/everthread/everthread/adapters/openai"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/chat/live"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
)

const hello = `{"model": "everthread", "messages": [{"role": "user", "content": "hello"}]}`

// TestAnswer checks a complete answer and the received message.
func TestAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	out := w.ok(
		`{"model":"everthread","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"hello"}],"max_tokens":50,"temperature":0.5,"made_up":[1]}`)
	id, _ := out["id"].(string)
	if !strings.HasPrefix(id, "chatcmpl-") {
		t.Errorf("id %q", id)
	}
	delete(out, "id")
	want := map[string]any{"object": "chat.completion", "created": 1.8e9, "model": "everthread",
		"choices": []any{map[string]any{"index": 0., "finish_reason": "stop", "logprobs": nil,
			"message": map[string]any{"role": "assistant", "content": "You said: hello", "refusal": nil}}},
		"usage": map[string]any{"prompt_tokens": 120., "completion_tokens": 7., "total_tokens": 127.,
			"prompt_tokens_details": map[string]any{"cached_tokens": 100.}}}
	if d := cmp.Diff(want, out); d != "" {
		t.Error(d)
	}
	in := w.questions()[0]
	if len(in) != 1 || in[0].Text != "hello" || !in[0].Solo || in[0].Thread != 0 || in[0].Address.Channel != "openai" ||
		in[0].EventID != in[0].NativeID {
		t.Errorf("%+v", in)
	}
	if d := cmp.Diff(&core.Request{Instructions: "Be brief.", MaxTokens: 50}, in[0].Request); d != "" {
		t.Error(d)
	}
}

// TestChat_takesOnlyWhatIsNew checks that it makes no difference whether a client sends its whole history or only
// the last message.
func TestChat_takesOnlyWhatIsNew(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	user := func(s string) string { return fmt.Sprintf(`{"role":"user","content":%q}`, s) }
	assistant := `{"role":"assistant","content":"aha"}`
	for name, c := range map[string]struct{ messages, want string }{
		"the last message only":     {user("b"), "b"},
		"the whole history":         {user("a") + "," + assistant + "," + user("b"), "b"},
		"two after the last answer": {assistant + "," + user("b") + "," + user("c"), "b\n\nc"},
		"parts": {`{"role":"user","content":[{"type":"text","text":"b"},{"type":"text","text":"c"}]}`,
			"b\nc"},
		"a system message in between": {user("a") + `,{"role":"developer","content":"x"},` + user("b"), "a\n\nb"},
		"a command":                   {user("/today"), "/today"},
		"history that is refused now": {`{"role":"user","content":[{"type":"input_audio","input_audio":{}}]},{"role":"assistant","content":null,"tool_calls":[]},` + user("b"), "b"},
	} {
		t.Run(name, func(t *testing.T) {
			w.ok(`{"model":"everthread","messages":[` + c.messages + `]}`)
			all := w.questions()
			if in := all[len(all)-1]; len(in) != 1 || in[0].Text != c.want {
				t.Errorf("%+v, want %q", in, c.want)
			}
		})
	}
}

// TestThreads_byModelName checks that a name after the slash of a model always selects the same plain thread.
func TestThreads_byModelName(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, model := range []string{"everthread/Work", "everthread/Work", "everthread/Home & garden", "everthread"} {
		w.ok(fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":"a"}]}`, model))
	}
	var threads []core.ThreadID
	for _, in := range w.questions() {
		threads = append(threads, in[0].Thread)
	}
	if threads[0] == 0 || threads[0] != threads[1] || threads[2] == 0 || threads[2] == threads[0] || threads[3] != 0 {
		t.Errorf("threads %v", threads)
	}
	named, err := w.ThreadNamed(t.Context(), w.user.ID, "Work", time.Now())
	if err != nil || named.ID != threads[0] {
		t.Error(named, err)
	}
}

// TestRepeat checks that a request repeated with its Idempotency-Key gets the same answer and
// stores nothing, and that without one each request is new.
func TestRepeat(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.ok(hello, "Idempotency-Key", "k1")
	again := w.ok(hello, "Idempotency-Key", "k1")
	if d := cmp.Diff(first, again); d != "" {
		t.Error(d)
	}
	streamed := w.events(`{"model":"everthread","stream":true,"messages":[{"role":"user","content":"hello"}]}`,
		"Idempotency-Key", "k1")
	if got := streamed.text(); got != "You said: hello" {
		t.Errorf("streamed again: %q", got)
	}
	if n := len(w.questions()); n != 1 {
		t.Errorf("%d messages were accepted", n)
	}
	w.ok(hello, "Idempotency-Key", "k2")
	w.ok(hello)
	w.ok(hello)
	w.key, _ = w.newKey(w.user, "chat")
	w.ok(hello, "Idempotency-Key", "k1") // of another program
	if n := len(w.questions()); n != 5 {
		t.Errorf("%d messages were accepted, want 5", n)
	}
}

// TestTools checks that a client's tools are passed on unchanged, that calls are returned, and that
// their results resume the turn.
func TestTools(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	calls := []core.ToolCall{{ID: "c1", Name: "weather", Arguments: `{"city":"Oslo"}`},
		{ID: "c2", Name: "weather", Arguments: `{`}}
	w.next = func(context.Context, []core.Inbound, func(string)) (live.Answer, error) {
		a := said("")
		a.Calls, a.Snapshot.Finish = calls, core.FinishTools
		return a, nil
	}
	const tools = `"tools":[{"type":"function","function":{"name":"weather","description":"d","strict":true,"parameters":{"type":"object","properties":{"b":{},"a":{"x-odd": 1.50}}}}}],"tool_choice":{"type":"function","function":{"name":"weather"}}`
	out := w.ok(`{"model":"everthread","messages":[{"role":"user","content":"Oslo?"}],` + tools + `}`)
	choice := out["choices"].([]any)[0].(map[string]any)
	message := choice["message"].(map[string]any)
	if choice["finish_reason"] != "tool_calls" || message["content"] != nil {
		t.Errorf("%v", choice)
	}
	want := []any{map[string]any{"id": "c1", "type": "function", "function": map[string]any{"name": "weather",
		"arguments": `{"city":"Oslo"}`}},
		map[string]any{"id": "c2", "type": "function", "function": map[string]any{"name": "weather", "arguments": "{"}}}
	if d := cmp.Diff(want, message["tool_calls"]); d != "" {
		t.Error(d)
	}
	asked := w.questions()[0][0].Request
	if asked.Choice != "weather" || len(asked.Tools) != 1 ||
		string(asked.Tools[0].Schema) != `{"type":"object","properties":{"b":{},"a":{"x-odd": 1.50}}}` {
		t.Errorf("%+v", asked)
	}

	w.timeline = []core.Message{{Role: core.RoleUser, Kind: core.KindChat},
		{Role: core.RoleAssistant, Kind: core.KindChat, ToolCalls: calls}}
	w.next = nil
	result := func(id string) string { return fmt.Sprintf(`{"role":"tool","tool_call_id":%q,"content":"4 °C"}`, id) }
	for _, c := range []struct{ messages, want string }{
		{result("c9"), "No tool call c9 waits"},
		{result("c1"), "c2 waits for its result, too"},
		{result("c1") + "," + result("c1"), "has two results"},
		{result("c1") + "," + result("c2") + "," + result("c3"), "No tool call c3 waits"},
		{`{"role":"tool","content":"x"}`, "has no tool_call_id"},
	} {
		res, text := w.chat(`{"model":"everthread","messages":[` + c.messages + `]}`)
		if e := readError(t, text); res.StatusCode != 400 || !strings.Contains(e.Message, c.want) {
			t.Errorf("%s: %d %s", c.messages, res.StatusCode, text)
		}
	}
	w.ok(`{"model":"everthread","messages":[{"role":"assistant","content":null,"tool_calls":[{}]},`+result("c1")+","+
		result("c2")+`]}`, "Idempotency-Key", "r")
	in := w.questions()[1]
	if len(in) != 2 || in[0].ToolCallID != "c1" || in[1].ToolCallID != "c2" || in[0].Text != "4 °C" ||
		in[0].Request != nil || in[1].Request == nil || in[0].Solo || in[1].Solo {
		t.Errorf("%+v", in)
	}
	w.timeline = append(w.timeline, core.Message{Role: core.RoleTool, ToolCallID: "c1"},
		core.Message{Role: core.RoleTool, ToolCallID: "c2"})
	res, _ := w.chat(`{"model":"everthread","messages":[` + result("c1") + "," + result("c2") + `]}`)
	if res.StatusCode != 400 {
		t.Errorf("results that were given already: %d", res.StatusCode)
	}
	w.ok(`{"model":"everthread","messages":[`+result("c1")+","+result("c2")+`]}`, "Idempotency-Key",
		"r") // the repeat of an accepted request
}

// dot is a picture of one pixel.
const dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

func TestPictures(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ok(
		`{"model":"everthread","messages":[{"role":"user","content":[{"type":"text","text":"what is this?"},{"type":"image_url","image_url":{"url":"data:image/png;base64,` + dot + `","detail":"low"}}]}]}`)
	in := w.questions()[0][0]
	data, err := base64.StdEncoding.DecodeString(dot)
	if err != nil || len(w.kept) != 1 || !slices.Equal(w.kept[0].Data, data) || w.kept[0].MIME != "image/png" {
		t.Errorf("kept %+v, %v", w.kept, err)
	}
	if in.Text != "[photo]\nwhat is this?" || len(in.Attachments) != 1 || in.Attachments[0].Path != "1/a" {
		t.Errorf("%+v", in)
	}
}

// TestFiles sends a file with its name, as clients do.
func TestFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const part = `{"type":"file","file":{"filename":"lease\n.pdf","file_data":"data:application/pdf;base64,JVBERi0="}}`
	w.ok(`{"model":"everthread","messages":[{"role":"user","content":[{"type":"text","text":"sum it up"},` + part + `]}]}`)
	if len(w.kept) != 1 || string(w.kept[0].Data) != "%PDF-" || w.kept[0].MIME != "application/pdf" ||
		w.kept[0].Name != "lease .pdf" {
		t.Errorf("kept %+v", w.kept)
	}
	if in := w.questions()[0][0]; in.Text != "[document lease .pdf]\nsum it up" || len(in.Attachments) != 1 {
		t.Errorf("%+v", in)
	}
}

// TestRoutes_failures checks that each failure has a status of its own and says what happened.
func TestRoutes_failures(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, c := range map[string]struct {
		err          error
		status       int
		code, kind   string
		want         string
		after, retry bool
	}{
		"no budget": {&live.OverBudget{Until: time.Now().Add(time.Hour)}, 429, "budget_exceeded", "insufficient_quota",
			"used up until", true, false},
		"model failed": {&live.Failed{Reason: "the API key is wrong"}, 502, "model_failed", "server_error",
			"the API key is wrong", false, false},
		"stopped":     {&live.Failed{Stopped: true}, 409, "stopped", "invalid_request_error", "was stopped", false, true},
		"out of time": {context.DeadlineExceeded, 504, "timeout", "server_error", "no answer in time", false, false},
		"anything else": {errors.New("disk at /var/secret is full"), 500, "internal_error", "server_error",
			"its log says", false, true},
	} {
		t.Run(name, func(t *testing.T) {
			for _, stream := range []string{"false", "true"} { // before a stream has begun, errors are the same
				w.next = func(context.Context, []core.Inbound, func(string)) (live.Answer, error) { return live.Answer{}, c.err }
				res, text := w.chat(strings.Replace(hello, "{", `{"stream":`+stream+",", 1))
				e := readError(t, text)
				if res.StatusCode != c.status || e.Code != c.code || e.Type != c.kind || !strings.Contains(e.Message, c.want) ||
					strings.Contains(text, "secret") {
					t.Errorf("%d %s", res.StatusCode, text)
				}
				if got := res.Header.Get("Retry-After") != ""; got != c.after {
					t.Errorf("Retry-After %q", res.Header.Get("Retry-After"))
				}
				if got := res.Header.Get("X-Should-Retry") != "false"; got != c.retry {
					t.Errorf("X-Should-Retry %q", res.Header.Get("X-Should-Retry"))
				}
			}
		})
	}
}

// TestPatience checks that a request that waits too long ends, but its turn does not.
func TestPatience(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *openai.Options) { o.Patience = 20 * time.Millisecond })
	w.next = func(ctx context.Context, _ []core.Inbound, _ func(string)) (live.Answer, error) {
		<-ctx.Done()
		return live.Answer{}, ctx.Err()
	}
	if res, text := w.chat(hello); res.StatusCode != 504 {
		t.Errorf("%d %s", res.StatusCode, text)
	}
}

// TestFinish checks that the reasons for the end of an answer are OpenAI's.
func TestFinish(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for finish, want := range map[core.Finish]string{core.FinishLength: "length", core.FinishRefused: "content_filter",
		core.FinishCut: "length", core.FinishStopped: "stop", core.FinishStop: "stop", "": "stop"} {
		w.next = func(context.Context, []core.Inbound, func(string)) (live.Answer, error) {
			a := said("x")
			a.Snapshot.Finish = finish
			return a, nil
		}
		if got := w.ok(hello)["choices"].([]any)[0].(map[string]any)["finish_reason"]; got != want {
			t.Errorf("%q: %v", finish, got)
		}
	}
	w.next = func(context.Context, []core.Inbound, func(string)) (live.Answer, error) { // a command
		return live.Answer{Message: core.Message{ID: 2, Kind: core.KindNotice, Text: "Nothing today.",
			Attachments: []core.Attachment{{Kind: "document", Name: "a.pdf"}}}}, nil
	}
	if got := content(t, w.ok(hello)); got != "Nothing today.\n\n[document: a.pdf]" {
		t.Errorf("%q", got)
	}
}

// TestKeys_pausedUser checks that programs of a paused user are told so.
func TestKeys_pausedUser(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.Note(t.Context(), store.Note{User: w.user.ID,
		Effects: []core.Effect{effect.SetSettings{Settings: core.Settings{Paused: true}}}, Now: time.Now()})
	check(t, err)
	if res, text := w.chat(hello); res.StatusCode != 409 || readError(t, text).Code != "paused" {
		t.Errorf("%d %s", res.StatusCode, text)
	}
	if res, text := w.chat(
		`{"model":"everthread","messages":[{"role":"user","content":"/pause"}]}`); res.StatusCode != 409 {
		t.Errorf("a command: %d %s", res.StatusCode, text)
	}
}

// TestKeys checks that refusals give a reason, and revoking a key ends no running request.
func TestKeys(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	reader, _ := w.newKey(w.user, "read", "memory")
	for _, path := range []string{"/v1/models", "/v1/models/everthread"} {
		if res, text := w.call("GET", path, "", "Authorization", "Bearer "+reader); res.StatusCode != 403 ||
			readError(t, text).Type != "permission_error" {
			t.Errorf("%s: %d %s", path, res.StatusCode, text)
		}
	}
	for _, authorization := range []string{"", "Bearer et_wrong", "Basic x"} {
		res, text := w.chat(hello, "Authorization", authorization)
		if e := readError(t, text); res.StatusCode != 401 || e.Type != "authentication_error" ||
			res.Header.Get("WWW-Authenticate") != "Bearer" {
			t.Errorf("%q: %d %s", authorization, res.StatusCode, text)
		}
	}
	w.next = func(ctx context.Context, in []core.Inbound, onText func(string)) (live.Answer, error) {
		check(t, w.RevokeAPIKey(ctx, w.user.ID, w.keyID))
		return said("the last words"), nil
	}
	if got := content(t, w.ok(hello)); got != "the last words" {
		t.Error(got)
	}
	if res, _ := w.chat(hello); res.StatusCode != 401 {
		t.Errorf("after it was revoked: %d", res.StatusCode)
	}
}

// TestServer_refusesOversizedHeaders checks that the server itself refuses oversized headers.
func TestServer_refusesOversizedHeaders(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if res, _ := w.chat(hello, "X-Long", strings.Repeat("x", 2<<20)); res.StatusCode != 431 {
		t.Errorf("%d", res.StatusCode)
	}
}

// TestIdentity_followsTheKey checks that an address of a program that moved to another user with its
// history returns to the key's user.
func TestIdentity_followsTheKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ok(hello)
	other, err := w.AddUser(t.Context(), core.User{Name: "Eve", Role: core.RoleMember})
	check(t, err)
	i, _, err := w.Identify(t.Context(), w.questions()[0][0].Address)
	check(t, err)
	check(t, w.MoveIdentity(t.Context(), i, other.ID))
	w.ok(hello)
	_, u, err := w.Identify(t.Context(), w.questions()[1][0].Address)
	if err != nil || u.ID != w.user.ID {
		t.Errorf("the program speaks as user %d, %v", u.ID, err)
	}
}

// TestIdentity_unlinked checks that a program whose address was unlinked speaks for its key's user again.
func TestIdentity_unlinked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for range 3 {
		w.ok(hello)
		all, err := w.Identities(t.Context(), w.user.ID)
		if err != nil || len(all) != 1 {
			t.Fatal(all, err)
		}
		_, err = w.Note(t.Context(), store.Note{User: w.user.ID,
			Effects: []core.Effect{effect.Unlink{Identity: all[0].ID, At: time.Now()}}, Now: time.Now()})
		check(t, err)
	}
}

// TestClient_officialTypes checks that a third-party client reads answers and streams.
func TestClient_officialTypes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := sdk.DefaultConfig(w.key)
	c.BaseURL = w.server.URL + "/v1"
	cl := sdk.NewClientWithConfig(c)
	out, err := cl.CreateChatCompletion(t.Context(), sdk.ChatCompletionRequest{Model: "everthread",
		Messages: []sdk.ChatCompletionMessage{{Role: "user", Content: "hello"}}})
	check(t, err)
	if out.Choices[0].Message.Content != "You said: hello" || out.Usage.TotalTokens != 127 ||
		out.Usage.PromptTokensDetails.CachedTokens != 100 {
		t.Errorf("%+v", out)
	}
	_, err = cl.CreateChatCompletion(t.Context(), sdk.ChatCompletionRequest{Model: "nothing",
		Messages: []sdk.ChatCompletionMessage{{Role: "user", Content: "hello"}}})
	var told *sdk.APIError
	if !errors.As(err, &told) || told.HTTPStatusCode != 404 || told.Code != "model_not_found" || *told.Param != "model" ||
		!strings.Contains(told.Message, "everthread-long") || !strings.Contains(told.Message, "everthread-task") {
		t.Errorf("%+v", err)
	}
	models, err := cl.ListModels(t.Context())
	if err != nil || len(models.Models) != 3 || models.Models[0].ID != "everthread" {
		t.Errorf("%+v, %v", models, err)
	}
	one, err := cl.GetModel(t.Context(), "everthread/Work")
	if err != nil || one.ID != "everthread/Work" {
		t.Errorf("%+v, %v", one, err)
	}
	if _, err := cl.GetModel(t.Context(), "gpt-9"); err == nil {
		t.Error("an unknown model is listed")
	}
}
