package openai

import (
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

const key = "sk-secret-0123456789"

// full returns a request with all fields.
func full() core.ModelRequest {
	return core.ModelRequest{
		User: 42, MaxTokens: 1024, CachePrefix: 2,
		Tools: []core.ToolSpec{{Name: "time_now", Description: "The <time>.",
			Schema: json.RawMessage(`{"type":"object","properties":{}}`)}},
		Messages: []core.ModelMessage{
			{Role: core.RoleSystem, Content: "You are kind."},
			{Role: core.RoleSystem, Content: "Yesterday: rain."},
			{Role: core.RoleUser, Content: "what is this?", Images: []core.Image{{MIME: "image/png", Data: []byte("png")}}},
			{Role: core.RoleAssistant, ToolCalls: []core.ToolCall{{ID: "c1", Name: "time_now", Arguments: "{}"}}},
			{Role: core.RoleTool, Content: "08:10", ToolCallID: "c1"},
			{Role: core.RoleUser, Content: "thanks & bye"},
		},
	}
}

type answer struct {
	text   string
	pieces int
	last   core.Delta
	err    error
}

func ask(ctx context.Context, m core.Model, req core.ModelRequest) answer {
	var a answer
	for d, err := range m.Stream(ctx, req) {
		if err != nil {
			a.err = err
			return a
		}
		a.text += d.Text
		a.pieces++
		a.last = d
	}
	return a
}

func serve(t *testing.T, handle http.HandlerFunc) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	return server
}

func reply(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		fmt.Fprint(w, body)
	}
}

func TestRequest_shape(t *testing.T) {
	t.Parallel()
	for name, own := range map[string]bool{"openai": true, "compatible": false} {
		m := newClient(Options{Model: "gpt-x", APIKey: key})
		m.own = own
		var indented strings.Builder
		encoder := json.NewEncoder(&indented)
		encoder.SetIndent("", "  ")
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(m.request(full(), false)); err != nil {
			t.Fatal(err)
		}
		golden(t, "request-"+name+".json", indented.String())
	}
}

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
		server := serve(t, reply(string(body)))
		a := ask(t.Context(), New(Options{BaseURL: server.URL, Model: "asked"}), full())
		golden(t, strings.TrimSuffix(filepath.Base(file), ".answer")+".want", a.String())
	}
}

func (a answer) String() string {
	usage, _ := json.Marshal(a.last.Usage)
	calls, _ := json.Marshal(a.last.ToolCalls)
	return fmt.Sprintf("text: %s\ncalls: %s\nfinish: %s, thought %t\nusage: %s\nmodel: %s\nerror: %v\n",
		a.text, calls, a.last.Finish, a.last.Thought, usage, a.last.Model, a.err)
}

func TestRequest_keyAndPath(t *testing.T) {
	t.Parallel()
	for _, suffix := range []string{"/v1", "/v1/", "/v1/chat/completions"} {
		server := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/v1/chat/completions" || r.Header.Get("Authorization") != "Bearer "+key {
				t.Errorf("%s %s", r.URL.Path, r.Header)
			}
			fmt.Fprint(w, "data: [DONE]\n\n")
		})
		if a := ask(t.Context(), New(Options{BaseURL: server.URL + suffix, APIKey: key}), full()); a.err != nil {
			t.Error(a.err)
		}
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name   string
		status int
		header string
		body   string
		kind   core.ModelErrorKind
		after  time.Duration
		words  string
	}{
		{"wrong key", 401, "", `{"error":{"message":"Incorrect API key provided: ` + key + `","code":"invalid_api_key"}}`,
			core.ModelAuth, 0, "llm.api_key"},
		{"rate limit", 429, "7", `{"error":{"message":"slow down","type":"rate_limit"}}`, core.ModelBusy,
			7 * time.Second, "slow down"},
		{"fraction of a second", 429, "0.5", `{}`, core.ModelBusy, 500 * time.Millisecond, ""},
		{"no money", 429, "", `{"error":{"message":"x","code":"insufficient_quota"}}`, core.ModelBusy, 0, "plan"},
		{"model missing", 404, "", `{"error":{"message":"model 'x' not found"}}`, core.ModelConfig, 0, "llm.model"},
		{"Ollama's form", 404, "", `{"error":"model not found"}`, core.ModelConfig, 0, "model not found"},
		{"model missing by 400", 400, "", `{"error":{"code":"model_not_found","message":"no"}}`,
			core.ModelConfig, 0, "llm.model"},
		{"moved", 302, "", ``, core.ModelConfig, 0, "llm.base_url"},
		{"too long", 400, "", `{"error":{"code":"context_length_exceeded","message":"..."}}`, core.ModelTooLong, 0,
			"context.total_tokens"},
		{"too long for llama.cpp", 400, "",
			`{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}`, core.ModelTooLong, 0, ""},
		{"bad request", 400, "", `{"error":{"message":"bad role"}}`, core.ModelRejected, 0, "bad role"},
		{"bad request in a list", 400, "", `[{"error":{"message":"bad role"}}]`, core.ModelRejected, 0, "bad role"},
		{"loading", 503, "3", `{"error":{"message":"Loading model"}}`, core.ModelDown, 3 * time.Second, "Loading model"},
		{"a proxy's page", 502, "", `<html>bad gateway</html>`, core.ModelDown, 0, "HTTP 502"},
	}
	for _, c := range cases {
		server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			if c.header != "" {
				w.Header().Set("Retry-After", c.header)
			}
			w.WriteHeader(c.status)
			fmt.Fprint(w, c.body)
		})
		err := ask(t.Context(), New(Options{BaseURL: server.URL, APIKey: key}), full()).err
		var got *core.ModelError
		if !errors.As(err, &got) || got.Kind != c.kind || got.After != c.after || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: %v, want %s after %s with %q", c.name, err, c.kind, c.after, c.words)
		}
		if strings.Contains(fmt.Sprint(err), "secret") {
			t.Errorf("%s: the key is in %v", c.name, err)
		}
	}
}

func TestStream_stalledServer(t *testing.T) {
	t.Parallel()
	for _, start := range []string{"", "data: {\"choices\":[{\"delta\":{\"content\":\"Once\"}}]}\n\n"} {
		server := serve(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			fmt.Fprint(w, start)
			if start != "" {
				w.(http.Flusher).Flush()
			}
			<-r.Context().Done()
		})
		a := ask(t.Context(), New(Options{BaseURL: server.URL, Timeout: 50 * time.Millisecond}), full())
		if start != "" && (a.err != nil || a.text != "Once" || a.last.Finish != core.FinishCut) {
			t.Errorf("after the first words: %+v", a)
		}
		err := a.err
		var got *core.ModelError
		if start == "" &&
			(!errors.As(err, &got) || got.Kind != core.ModelDown || !strings.Contains(err.Error(), "llm.timeout")) {
			t.Errorf("got %v", err)
		}
	}
}

func TestStream_endsWithTheContext(t *testing.T) {
	t.Parallel()
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		fmt.Fprint(w, "data: {\"choices\":[{\"delta\":{\"content\":\"Once\"}}]}\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var got error
	for _, err := range New(Options{BaseURL: server.URL}).Stream(ctx, full()) {
		cancel()
		got = err
	}
	if !errors.Is(got, context.Canceled) {
		t.Errorf("got %v", got)
	}
}

func TestStream_noServerAndNoAddress(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(nil)
	server.Close()
	for address, kind := range map[string]core.ModelErrorKind{
		server.URL: core.ModelDown, "localhost:11434": core.ModelConfig, "ftp://x/v1": core.ModelConfig,
		"http://%zz": core.ModelConfig,
	} {
		err := ask(t.Context(), New(Options{BaseURL: address}), full()).err
		var got *core.ModelError
		if !errors.As(err, &got) || got.Kind != kind {
			t.Errorf("%s: %v, want %s", address, err, kind)
		}
	}
}

func TestClient_reusesTheConnection(t *testing.T) {
	t.Parallel()
	peers := map[string]bool{}
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		peers[r.RemoteAddr] = true
		reply("data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")(w, r)
	})
	m := New(Options{BaseURL: server.URL})
	for range 5 {
		if a := ask(t.Context(), m, full()); a.err != nil {
			t.Fatal(a.err)
		}
	}
	if len(peers) != 1 {
		t.Errorf("got %d connections, want 1", len(peers))
	}
}
