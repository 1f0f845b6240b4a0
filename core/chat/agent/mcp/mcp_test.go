package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/everthread/everthread/core"
)

type words struct{}

func (words) Count(text string) int { return len(strings.Fields(text)) }

// programOf returns the test binary as a server of a kind.
func programOf(t *testing.T, name, kind string) Server {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Server{Name: name, Command: exe, Env: map[string]string{mode: kind, "SECRET": "hunter2"}}
}

// start runs a client until the test ends.
func start(t *testing.T, o Options) (*Client, *observer.ObservedLogs) {
	t.Helper()
	logs, seen := observer.New(zap.DebugLevel)
	o.Tokenizer, o.Log, o.Now, o.Rand = words{}, zap.New(logs), time.Now, func() float64 { return 1 }
	c := New(o)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = c.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return c, seen
}

// await waits until ok holds.
func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for limit := time.After(30 * time.Second); !ok(); {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("%s did not appear", what)
		}
	}
}

func up(c *Client) func() bool {
	return func() bool {
		for _, s := range c.Status() {
			if !s.Up {
				return false
			}
		}
		return true
	}
}

func call(ctx context.Context, t *testing.T, c *Client, name, arguments string) (string, error) {
	t.Helper()
	for _, tool := range c.Tools() {
		if tool.Spec().Name == name {
			res, err := tool.Use(ctx, core.ToolUse{Arguments: json.RawMessage(arguments)})
			return res.Text, err
		}
	}
	t.Fatalf("there is no tool %s", name)
	return "", nil
}

func names(c *Client) string {
	var out []string
	for _, tool := range c.Tools() {
		out = append(out, tool.Spec().Name)
	}
	return strings.Join(out, " ")
}

func overHTTP(t *testing.T, name, kind string) Server {
	t.Helper()
	s := httptest.NewServer(streamable(t, newServer(kind),
		func(r *http.Request) bool { return r.Header.Get("Authorization") == "Bearer hunter2" }))
	t.Cleanup(s.Close)
	return Server{Name: name, URL: s.URL + "/mcp?key=geheim",
		Headers: map[string]string{"Authorization": "Bearer hunter2"}}
}

func TestClient_toolsOfAServer(t *testing.T) {
	t.Parallel()
	for how, server := range map[string]Server{"program": programOf(t, "lab", "good"),
		"http": overHTTP(t, "lab", "good")} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			c, _ := start(t, Options{Servers: []Server{server}})
			await(t, "the server", up(c))
			if got := names(
				c); got != "lab_crash lab_echo lab_environment lab_fail lab_flood lab_mixed lab_refuse lab_slow lab_structured" {
				t.Fatalf("tools %s", got)
			}
			for name, want := range map[string]string{
				"echo":       "you said hé",
				"structured": `{"n":1}`,
				"mixed": "ab[31m\n\n[image image/png of 300 bytes]\n[audio audio/ogg of 20 bytes]\n[link to notes: file:///notes.txt]\n" +
					"inside\n[file file:///b application/zip of 9 bytes]",
			} {
				if got, err := call(t.Context(), t, c, "lab_"+name, `{"text":"hé"}`); got != want || err != nil {
					t.Errorf("%s: got %q, %v", name, got, err)
				}
			}
			for name, want := range map[string]string{"fail": "there is no such file", "refuse": "refused the call: not today"} {
				if _, err := call(t.Context(), t, c, "lab_"+name, `{}`); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%s: got %v", name, err)
				}
			}
			spec := c.Tools()[1].Spec()
			want := core.ToolSpec{Name: "lab_echo", Description: "does echo",
				Schema: json.RawMessage(`{"properties":{"text":{"type":"string"}},"type":"object"}`)}
			if d := cmp.Diff(want, spec); d != "" || !c.Tools()[1].(core.OutsideTool).Outside() {
				t.Error(d)
			}
			if d := cmp.Diff([]Status{{Name: "lab", Up: true, Tools: 9}}, c.Status()); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestServer_programSeesLittleEnvironment(t *testing.T) {
	t.Setenv("EVERTHREAD_LLM_API_KEY", "very secret")
	c, _ := start(t, Options{Servers: []Server{programOf(t, "lab", "good")}})
	await(t, "the server", up(c))
	got, err := call(t.Context(), t, c, "lab_environment", `{}`)
	if err != nil || strings.Contains(got, "very secret") || !strings.Contains(got, "SECRET=hunter2") ||
		!strings.Contains(got, "PATH=") {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestServer_awayCostsOnlyItsTools(t *testing.T) {
	t.Parallel()
	away := httptest.NewServer(http.NotFoundHandler())
	away.Close()
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") }))
	t.Cleanup(page.Close)
	locked := overHTTP(t, "locked", "good")
	locked.Headers = map[string]string{"Authorization": "Bearer wrong-key"}
	c, logs := start(t, Options{Connect: 3 * time.Second, Servers: []Server{
		programOf(t, "dead", "dead"), programOf(t, "mute", "mute"), programOf(t, "garbage", "garbage"),
		{Name: "none", Command: "/no/such/program"},
		{Name: "away", URL: away.URL + "/?key=geheim"}, {Name: "page", URL: page.URL}, locked, programOf(t, "lab", "good"),
	}})
	want := map[string]string{"dead": "status 3", "mute": "deadline exceeded", "garbage": "invalid character",
		"none": "no such file", "away": "connection refused", "page": "content type", "locked": "Unauthorized", "lab": ""}
	await(t, "the end of the first attempts", func() bool {
		for _, s := range c.Status() {
			if !s.Up && s.Error == "" {
				return false
			}
		}
		return true
	})
	for _, s := range c.Status() {
		if s.Up != (s.Name == "lab") || !strings.Contains(s.Error, want[s.Name]) || strings.Contains(s.Error, "geheim") ||
			strings.Contains(s.Error, "wrong-key") {
			t.Errorf("%+v, want %s", s, want[s.Name])
		}
	}
	if got, err := call(t.Context(), t, c, "lab_echo", `{"text":1}`); got != "you said 1" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if n := logs.FilterMessage("MCP server is away").FilterLevelExact(zap.WarnLevel).Len(); n != 7 {
		t.Errorf("%d warnings, want one of each server", n)
	}
}

func TestServer_crashCostsOneError(t *testing.T) {
	t.Parallel()
	c, logs := start(t, Options{Servers: []Server{programOf(t, "lab", "good")}})
	await(t, "the server", up(c))
	_, err := call(t.Context(), t, c, "lab_crash", `{}`)
	if err == nil ||
		!strings.Contains(err.Error(),
			"the connection to the MCP server lab broke in the call, which may have taken effect or not: the program ended with status 7") {
		t.Errorf("got %v", err)
	}
	if _, err := call(t.Context(), t, c, "lab_echo", `{}`); err == nil ||
		!strings.Contains(err.Error(), "cannot be reached now") {
		t.Errorf("while the server is away: %v", err)
	}
	await(t, "the server again", up(c))
	if got, err := call(t.Context(), t, c, "lab_echo", `{"text":"hello"}`); got != "you said hello" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if logs.FilterMessage("MCP server is up again").Len() != 1 {
		t.Errorf("log %v", logs.All())
	}
}

func TestTool_slowEndsWithItsContext(t *testing.T) {
	t.Parallel()
	for how, server := range map[string]Server{"program": programOf(t, "lab", "good"),
		"http": overHTTP(t, "lab", "good")} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			c, _ := start(t, Options{Servers: []Server{server}})
			await(t, "the server", up(c))
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			if _, err := call(ctx, t, c, "lab_slow", `{}`); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v", err)
			}
			if got, err := call(t.Context(), t, c, "lab_echo", `{"text":"still here"}`); got != "you said still here" ||
				err != nil {
				t.Errorf("afterwards: %q, %v", got, err)
			}
		})
	}
}

func TestTool_floodIsCut(t *testing.T) {
	t.Parallel()
	for how, server := range map[string]Server{"program": programOf(t, "lab", "good"),
		"http": overHTTP(t, "lab", "good")} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			c, _ := start(t, Options{Servers: []Server{server}})
			await(t, "the server", up(c))
			got, err := call(t.Context(), t, c, "lab_flood", `{"bytes":"2000000"}`)
			if err != nil || len(got) > longestText+100 || !strings.HasPrefix(got, "firstx") ||
				!strings.HasSuffix(got, "xlast") || !strings.Contains(got, "bytes of tool output left out") {
				t.Errorf("%d bytes, %v", len(got), err)
			}
			for range 3 { // the read output does not accumulate over messages
				if _, err := call(t.Context(), t, c, "lab_flood", `{"bytes":"2000000"}`); err != nil {
					t.Error(err)
				}
			}
			if _, err := call(t.Context(), t, c, "lab_flood", `{"bytes":"10000000"}`); err == nil ||
				!strings.Contains(err.Error(), "more than 4 MiB at once; ask it for less") {
				t.Errorf("got %v", err)
			}
			await(t, "the server again", func() bool {
				got, err := call(t.Context(), t, c, "lab_echo", `{"text":"dry"}`)
				return err == nil && got == "you said dry"
			})
		})
	}
}

func TestServer_restartOverHTTPIsFoundAgain(t *testing.T) {
	t.Parallel()
	var handler atomic.Pointer[http.Handler]
	renew := func() {
		h := streamable(t, newServer("good"), func(*http.Request) bool { return true })
		handler.Store(&h)
	}
	renew()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter,
		r *http.Request) {
		(*handler.Load()).ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	c, _ := start(t, Options{Servers: []Server{{Name: "lab", URL: s.URL}}})
	await(t, "the server", up(c))
	renew() // the new server does not know the session
	if _, err := call(t.Context(), t, c, "lab_echo", `{}`); err == nil {
		t.Error("the session is still known")
	}
	await(t, "the server again", func() bool {
		got, err := call(t.Context(), t, c, "lab_echo", `{"text":"back"}`)
		return err == nil && got == "you said back"
	})
}

func TestClient_keepsTheFirstList(t *testing.T) {
	t.Parallel()
	server := programOf(t, "lab", "once")
	server.Env["MCP_TEST_FILE"] = filepath.Join(t.TempDir(), "started")
	c, logs := start(t, Options{Servers: []Server{server}})
	await(t, "the server", up(c))
	before := names(c)
	_, _ = call(t.Context(), t, c, "lab_crash", `{}`)
	await(t, "the server again", up(c))
	if names(c) != before || logs.FilterMessageSnippet("taken up at the next start").Len() != 1 {
		t.Errorf("tools %s, log %v", names(c), logs.All())
	}
	if _, err := call(t.Context(), t, c, "lab_echo", `{}`); err == nil || !strings.Contains(err.Error(), "echo") {
		t.Errorf("a removed tool: %v", err)
	}
}

func TestClient_logsAChangedList(t *testing.T) {
	t.Parallel()
	server := newServer("good")
	serverSide, clientSide := sdk.NewInMemoryTransports()
	ss, err := server.Connect(t.Context(), serverSide, nil)
	if err != nil {
		t.Fatal(err)
	}
	logs, seen := observer.New(zap.DebugLevel)
	l := New(Options{Servers: []Server{{Name: "lab", Command: "x"}}, Log: zap.New(logs), Tokenizer: words{}}).links[0]
	cs, err := sdk.NewClient(&sdk.Implementation{Name: "x"}, l.options()).Connect(t.Context(), clientSide,
		&sdk.ClientSessionOptions{ProtocolVersion: protocol})
	if err != nil {
		t.Fatal(err)
	}
	server.RemoveTools("echo")
	await(t, "the notice", func() bool { return seen.FilterMessageSnippet("taken up at the next start").Len() == 1 })
	_ = cs.Close()
	_ = ss.Wait()
}

func TestTool_oddNamesAndSchemas(t *testing.T) {
	t.Parallel()
	c, logs := start(t, Options{Servers: []Server{programOf(t, "o-d", "odd")}})
	await(t, "the server", up(c))
	long := "o-d_" + strings.Repeat("long", 15)
	want := "o-d_bare " + long[:62] + "_2 " + long + " o-d_phplist o-d_with-dots o-d_with_dots o-d_with_dots_2"
	if got := names(c); got != want {
		t.Errorf("tools %s, want %s", got, want)
	}
	for _, tool := range c.Tools() {
		spec := tool.Spec()
		var schema struct {
			Type       string         `json:"type"`
			Properties map[string]any `json:"properties"`
			Dialect    string         `json:"$schema"`
		}
		if err := json.Unmarshal(spec.Schema, &schema); err != nil || schema.Type != "object" || schema.Properties == nil ||
			schema.Dialect != "" || len(spec.Name) > 64 {
			t.Errorf("%s: %s, %v", spec.Name, spec.Schema, err)
		}
		if got, err := call(t.Context(), t, c, spec.Name, `{}`); got != "ok" || err != nil {
			t.Errorf("%s: %q, %v", spec.Name, got, err)
		}
	}
	if n := logs.FilterMessage("MCP tool left out").Len(); n != 4 {
		t.Errorf("%d left out, want 4: %v", n, logs.All())
	}
}

// TestClient_listThatRepeats: a list of tools ends where it begins again.
func TestClient_listThatRepeats(t *testing.T) {
	t.Parallel()
	for kind := range endless {
		c, _ := start(t, Options{Servers: []Server{programOf(t, "s", kind)}})
		await(t, "the server", up(c))
		if got := names(c); got != "s_a s_b" {
			t.Errorf("%s: tools %s", kind, got)
		}
	}
}

func TestSchemaOf_refusesOtherKinds(t *testing.T) {
	t.Parallel()
	for _, schema := range []any{"string", []any{}, true, map[string]any{"type": "string"},
		map[string]any{"type": []any{"object"}}} {
		if _, err := schemaOf(schema); err == nil {
			t.Errorf("%v: no error", schema)
		}
	}
	if got, err := schemaOf(nil); string(got) != `{"properties":{},"type":"object"}` || err != nil {
		t.Errorf("none: %s, %v", got, err)
	}
}

func TestTool_descriptionsWithinTheirTokens(t *testing.T) {
	t.Parallel()
	// Each description takes 12 tokens, the name and the schema 1 each, the words 2.
	c, logs := start(t, Options{SchemaTokens: 16 * 3, Servers: []Server{programOf(t, "lab", "good")}})
	await(t, "the server", up(c))
	if got := names(c); got != "lab_crash lab_echo lab_environment" {
		t.Errorf("tools %s", got)
	}
	if n := logs.FilterMessageSnippet("take too much of the prompt").FilterLevelExact(zap.WarnLevel).Len(); n != 6 {
		t.Errorf("%d warnings, want 6", n)
	}
}

func TestServer_stubbornProgramIsEnded(t *testing.T) {
	t.Parallel()
	server := programOf(t, "lab", "stubborn")
	o := Options{Servers: []Server{server}, Tokenizer: words{}, Log: zap.NewNop(), Now: time.Now,
		Rand: func() float64 { return 0 }}
	c := New(o)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- c.Run(ctx) }()
	await(t, "the server", up(c))
	cancel()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("Run does not end")
	}
}

func TestCut_atRunes(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 100)
	if got := cut(long, 51); got != strings.Repeat("é", 25)+"…" {
		t.Errorf("cut %q", got)
	}
	if got := middle(long, 81); !strings.HasPrefix(got, "éé") || strings.Contains(got, "\uFFFD") ||
		got != strings.ToValidUTF8(got, "?") {
		t.Errorf("middle %q", got)
	}
	if cut("short", 5) != "short" || middle("short", 5) != "short" {
		t.Error("a short text was changed")
	}
}
