package anthropic

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/everthread/everthread/core"
)

var update = flag.Bool("update", false, "rewrite golden files")

const key = "sk-ant-secret-0123456789"

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s: %s", name, diff)
	}
}

func call(id, name string) core.ToolCall {
	return core.ToolCall{ID: id, Name: name, Arguments: `{"x":1}`}
}

var timeNow = core.ToolSpec{Name: "time_now", Description: "The time.",
	Schema: json.RawMessage(
		`{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"],"additionalProperties":false}`)}

func TestRequest_shape(t *testing.T) {
	t.Parallel()
	system := core.ModelMessage{Role: core.RoleSystem, Content: "You are kind."}
	tools := []core.ModelMessage{
		system,
		{Role: core.RoleSystem, Content: "Yesterday: rain."},
		{Role: core.RoleUser, Content: "what is this?", Images: []core.Image{{MIME: "image/png", Data: []byte("png")}}},
		{Role: core.RoleAssistant, Content: "Let me see.", ToolCalls: []core.ToolCall{call("a.1", "time_now"),
			call("b", "time_now")}},
		{Role: core.RoleTool, Content: "08:10", ToolCallID: "a.1"},
		{Role: core.RoleTool, Content: "", ToolCallID: "b"},
		{Role: core.RoleUser, Content: "thanks"},
		{Role: core.RoleUser, Content: "bye"},
	}
	cases := map[string]core.ModelRequest{
		"full":          {Messages: tools, Tools: []core.ToolSpec{timeNow}, User: 42, MaxTokens: 1024, CachePrefix: 2},
		"without-tools": {Messages: tools, CachePrefix: 3},
		"odd": {Tools: []core.ToolSpec{timeNow}, Messages: []core.ModelMessage{
			{Role: core.RoleAssistant, Content: "Good morning"},
			{Role: core.RoleUser, Content: " "},
			{Role: core.RoleAssistant, ToolCalls: []core.ToolCall{call("lost", "time_now")}},
			{Role: core.RoleUser, Content: "hello?"},
			{Role: core.RoleTool, Content: "orphan", ToolCallID: "lost"},
			system,
		}},
		"empty": {},
	}
	for name, req := range cases {
		var sent bytes.Buffer
		server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if err := json.Indent(&sent, body, "", "  "); err != nil {
				t.Error(err)
			}
			if r.URL.Path != "/v1/messages" || r.Header.Get("X-Api-Key") != key {
				t.Errorf("%s %v", r.URL.Path, r.Header)
			}
		}))
		ask(t.Context(), New(Options{BaseURL: server.URL + "/v1", APIKey: key, Model: "claude-x"}), req)
		server.Close()
		golden(t, "request-"+name+".json", sent.String()+"\n")
	}
}

type answer struct {
	text string
	last core.Delta
	err  error
}

func (a answer) String() string {
	usage, _ := json.Marshal(a.last.Usage)
	calls, _ := json.Marshal(a.last.ToolCalls)
	return fmt.Sprintf("text: %s\ncalls: %s\nfinish: %s, thought %t\nusage: %s\nmodel: %s\nerror: %v\n",
		a.text, calls, a.last.Finish, a.last.Thought, usage, a.last.Model, a.err)
}

func ask(ctx context.Context, m core.Model, req core.ModelRequest) answer {
	var a answer
	for d, err := range m.Stream(ctx, req) {
		if err != nil {
			a.err = err
			return a
		}
		a.text += d.Text
		a.last = d
	}
	return a
}

// canned answers every request with a fixed response.
type canned struct {
	status int
	header http.Header
	body   string
}

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	if c.header == nil {
		c.header = http.Header{}
	}
	return &http.Response{StatusCode: c.status, Header: c.header, Body: io.NopCloser(strings.NewReader(c.body)),
		Request: r}, nil
}

func answering(c canned) core.Model {
	return New(Options{Model: "asked", APIKey: key, HTTP: &http.Client{Transport: c}})
}

// TestAnswers reads each recorded response testdata/*.answer and compares the result with the
// *.want file of the same name.
func TestAnswers(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.answer")
	if err != nil || len(files) == 0 {
		t.Fatal("no recorded responses", err)
	}
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		a := ask(t.Context(), answering(canned{status: 200, body: string(body)}), core.ModelRequest{})
		golden(t, strings.TrimSuffix(filepath.Base(file), ".answer")+".want", a.String())
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name   string
		status int
		after  string
		body   string
		kind   core.ModelErrorKind
		wait   time.Duration
	}{
		{"wrong key", 401, "", `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key ` + key +
			`"}}`, core.ModelAuth, 0},
		{"rate limit", 429, "12", `{"type":"error","error":{"type":"rate_limit_error","message":"slow"}}`,
			core.ModelBusy, 12 * time.Second},
		{"overloaded", 529, "", `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, core.ModelDown,
			0},
		{"model missing", 404, "", `{"type":"error","error":{"type":"not_found_error","message":"model: x"}}`,
			core.ModelConfig, 0},
		{"too long", 400, "",
			`{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`, core.ModelTooLong, 0},
		{"no money", 400, "",
			`{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low"}}`,
			core.ModelBusy, 0},
		{"bad request", 400, "", `{"type":"error","error":{"type":"invalid_request_error","message":"messages: roles"}}`,
			core.ModelRejected, 0},
		{"a proxy's page", 502, "", `<html></html>`, core.ModelDown, 0},
	}
	for _, c := range cases {
		m := answering(canned{status: c.status, header: http.Header{"Retry-After": {c.after}}, body: c.body})
		err := ask(t.Context(), m, core.ModelRequest{}).err
		var got *core.ModelError
		if !errors.As(err, &got) || got.Kind != c.kind || got.After != c.wait {
			t.Errorf("%s: %v, want %s after %s", c.name, err, c.kind, c.wait)
		}
		if strings.Contains(fmt.Sprint(err), "secret") {
			t.Errorf("%s: the key is in %v", c.name, err)
		}
	}
}

func TestStream_stalledAndStopped(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	defer server.Close()
	m := New(Options{BaseURL: server.URL, Timeout: 50 * time.Millisecond})
	var got *core.ModelError
	if err := ask(t.Context(), m, core.ModelRequest{}).err; !errors.As(err, &got) || got.Kind != core.ModelDown {
		t.Errorf("stalled: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := ask(ctx, m, core.ModelRequest{}).err; !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
}

// FuzzAnswer checks that every response ends with exactly one Finish or one ModelError.
func FuzzAnswer(f *testing.F) {
	files, err := filepath.Glob("testdata/*.answer")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(body))
	}
	f.Fuzz(func(t *testing.T, body string) {
		a := ask(t.Context(), answering(canned{status: 200, body: body}), core.ModelRequest{})
		var modelErr *core.ModelError
		if a.err == nil && a.last.Finish == "" || a.err != nil && !errors.As(a.err, &modelErr) {
			t.Errorf("ended with %+v", a)
		}
	})
}

// TestModel_thoughtsGoBack: thoughts come back with their signature before the calls of tools that they led to, but not
// to another server.
func TestModel_thoughtsGoBack(t *testing.T) {
	t.Parallel()
	var sent []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		sent = append(sent, string(body))
		fmt.Fprint(w, `data: {"type":"message_start","message":{"model":"claude-x-1","usage":{"input_tokens":"10"}}}

data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"look it up"}}

data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}

data: {"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"xyz"}}

data: {"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"t1","name":"time_now","input":{}}}

data: {"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":15.5}}
`)
	}))
	defer server.Close()
	m := New(Options{BaseURL: server.URL, APIKey: key, Model: "claude-x", Effort: "high"})
	req := core.ModelRequest{Tools: []core.ToolSpec{timeNow},
		Messages: []core.ModelMessage{{Role: core.RoleUser, Content: "hi"}}}
	a := ask(t.Context(), m, req)
	if a.err != nil || !a.last.Thought || a.text != "" || *a.last.Usage != (core.Usage{Prompt: 10, Completion: 15}) {
		t.Fatalf("%+v", a)
	}
	req.Messages = append(req.Messages, core.ModelMessage{Role: core.RoleAssistant, ToolCalls: a.last.ToolCalls},
		core.ModelMessage{Role: core.RoleTool, ToolCallID: "t1", Content: "08:10"})
	ask(t.Context(), m, req)
	want := `"role":"assistant","content":[{"signature":"c2ln","thinking":"look it up","type":"thinking"},` +
		`{"type":"redacted_thinking","data":"xyz"},{"type":"tool_use","id":"t1"`
	if !strings.Contains(sent[1], want) {
		t.Errorf("sent back %s", sent[1])
	}
	for _, part := range []string{`"thinking":{"type":"adaptive"}`, `"output_config":{"effort":"high"}`} {
		if !strings.Contains(sent[0], part) {
			t.Errorf("%s is missing in %s", part, sent[0])
		}
	}
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if body, _ := io.ReadAll(r.Body); strings.Contains(string(body), "look it up") {
			t.Errorf("another server got %s", body)
		}
	}))
	defer other.Close()
	ask(t.Context(), New(Options{BaseURL: other.URL, APIKey: key, Model: "claude-x"}), req)
}

// TestModel_olderModel: one that takes neither 8,192 tokens nor thinking is asked without.
func TestModel_olderModel(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			MaxTokens int `json:"max_tokens"`
			Thinking  any
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		if body.MaxTokens > 4096 || body.Thinking != nil {
			w.WriteHeader(400)
			fmt.Fprint(w, `{"type":"error","error":{"type":"invalid_request_error","message":"max_tokens: 8192 > 4096"}}`)
			return
		}
		fmt.Fprint(w, `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"fine"}}`+"\n\n"+
			`data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}`+"\n\n")
	}))
	defer server.Close()
	a := ask(t.Context(), New(Options{BaseURL: server.URL, APIKey: key, Model: "claude-x", Effort: "low"}),
		core.ModelRequest{})
	if a.err != nil || a.text != "fine" || fmt.Sprint(a.last.Reduced) != "[parameters]" {
		t.Errorf("%+v", a)
	}
}
