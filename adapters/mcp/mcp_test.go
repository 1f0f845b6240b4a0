package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/chat/agent/tooltest"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
)

func names(t *testing.T, s *sdk.ClientSession) []string {
	t.Helper()
	out, err := s.ListTools(context.Background(), nil)
	check(t, err)
	var all []string
	for _, tool := range out.Tools {
		all = append(all, tool.Name)
	}
	slices.Sort(all)
	return all
}

// call runs a tool, and returns its text and whether it is an error.
func call(t *testing.T, s *sdk.ClientSession, name string, arguments any) (string, bool) {
	t.Helper()
	out, err := s.CallTool(context.Background(), &sdk.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		return err.Error(), true
	}
	return out.Content[0].(*sdk.TextContent).Text, out.IsError
}

var (
	ofConversation = []string{"conversation_get", "conversation_search"}
	ofMemory       = []string{"memory_add", "memory_archive", "memory_get", "memory_list_themes", "memory_search"}
)

// TestTools_schemasFitProviders checks that providers accept the schemas that programs pass to
// their models.
func TestTools_schemasFitProviders(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	out, err := w.connect(w.key(w.ada, "read", "memory")).ListTools(context.Background(), nil)
	if err != nil || len(out.Tools) < 7 {
		t.Fatal(out, err)
	}
	for _, tool := range out.Tools {
		schema, err := json.Marshal(tool.InputSchema)
		if err != nil {
			t.Fatal(err)
		}
		tooltest.Check(t, core.ToolSpec{Name: tool.Name, Description: tool.Description, Schema: schema})
	}
}

// TestTools_memoryIsOff checks that programs of users without memory get no memory tools.
func TestTools_memoryIsOff(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ada := w.ada
	s := ada.Settings
	s.MemoryOff = true
	if _, err := w.Act(context.Background(), ada.ID, effect.SetSettings{Settings: s}); err != nil {
		t.Fatal(err)
	}
	out, err := w.connect(w.key(ada, "read", "memory")).ListTools(context.Background(), nil)
	if err != nil || len(out.Tools) == 0 {
		t.Fatal(out, err)
	}
	for _, tool := range out.Tools {
		if strings.HasPrefix(tool.Name, "memory_") {
			t.Errorf("there is %s", tool.Name)
		}
	}
}

// TestTools checks that both transports offer the tools, and that these work like the model's.
func TestTools(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, s := range map[string]*sdk.ClientSession{"http": w.connect(w.key(w.ada, "read", "memory")),
		"stdio": w.stdio(w.ada)} {
		if got := names(t, s); !slices.Equal(got, append(slices.Clone(ofConversation), ofMemory...)) {
			t.Errorf("%s: %v", name, got)
		}
		if text, bad := call(t, s, "conversation_search", map[string]any{"query": "kestrel"}); bad ||
			!strings.Contains(text, `"day_label":"2026-01-31"`) {
			t.Errorf("%s: %s", name, text)
		}
		if text, bad := call(t, s, "conversation_search", map[string]any{"query": "captain"}); bad ||
			!strings.Contains(text, `"results":[]`) {
			t.Errorf("%s: another user's words: %s", name, text)
		}
		text, bad := call(t, s, "memory_add", map[string]any{"type": "fact", "content": "The dinghy came by " + name})
		if bad || !strings.Contains(text, `"status":"added"`) {
			t.Errorf("%s: %s", name, text)
		}
		if text, bad = call(t, s, "memory_search", map[string]any{"query": "came by " + name}); bad ||
			!strings.Contains(text, "The dinghy came by "+name) {
			t.Errorf("%s: %s", name, text)
		}
		if text, bad = call(t, s, "memory_get", map[string]any{"item_id": 999999}); !bad ||
			!strings.Contains(text, "there is no item 999999") {
			t.Errorf("%s: %s", name, text)
		}
		if text, bad = call(t, s, "conversation_get", map[string]any{"message_id": "x"}); !bad {
			t.Errorf("%s: %s", name, text)
		}
		if text, bad = call(t, s, "reminder_set", nil); !bad {
			t.Errorf("%s: a tool that is not offered: %s", name, text)
		}
	}
	items, err := w.Items(context.Background(), store.ItemQuery{User: w.ada.ID, Limit: 10})
	if err != nil || len(items) != 2 {
		t.Fatal(items, err)
	}
	s := w.connect(w.key(w.ada, "memory"))
	if text, bad := call(t, s, "memory_archive", map[string]any{"item_id": items[0].ID}); bad {
		t.Error(text)
	}
	if i, err := w.Item(context.Background(), w.ada.ID, items[0].ID); err != nil || i.Status != core.ItemArchived {
		t.Error(i, err)
	}
	eve := w.connect(w.key(w.eve, "memory"))
	if text, bad := call(t, eve, "memory_archive", map[string]any{"item_id": items[1].ID}); !bad {
		t.Errorf("another's item: %s", text)
	}
}

func TestStructured(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.connect(w.key(w.ada, "memory"))
	out, err := s.CallTool(context.Background(), &sdk.CallToolParams{Name: "memory_list_themes"})
	check(t, err)
	if got, _ := json.Marshal(out.StructuredContent); string(got) != `{"themes":[]}` {
		t.Errorf("%s", got)
	}
	tools, err := s.ListTools(context.Background(), nil)
	check(t, err)
	for _, tool := range tools.Tools {
		changes := tool.Name == "memory_add" || tool.Name == "memory_archive"
		if tool.Annotations.ReadOnlyHint == changes || *tool.Annotations.DestructiveHint != (tool.Name == "memory_archive") ||
			tool.Title == "" {
			t.Errorf("%s: %+v", tool.Name, tool.Annotations)
		}
	}
	if i := s.InitializeResult(); i.ServerInfo.Name != "everthread" || i.ServerInfo.Version != "1.2.3" ||
		i.Capabilities.Resources != nil || i.Instructions == "" {
		t.Errorf("%+v", i)
	}
}

// TestRoutes_scopes checks that a key sees what its scopes allow, and a key without scopes is not
// admitted.
func TestRoutes_scopes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	reader, keeper := w.connect(w.key(w.ada, "read")), w.connect(w.key(w.ada, "memory"))
	if got := names(t, reader); !slices.Equal(got, ofConversation) {
		t.Errorf("read: %v", got)
	}
	if got := names(t, keeper); !slices.Equal(got, ofMemory) {
		t.Errorf("memory: %v", got)
	}
	if text, bad := call(t, reader, "memory_search", map[string]any{"query": "*"}); !bad {
		t.Errorf("memory with read: %s", text)
	}
	if out, err := keeper.ReadResource(context.Background(),
		&sdk.ReadResourceParams{URI: "everthread://days/2026-01-31"}); err == nil {
		t.Errorf("a day with memory: %+v", out)
	}
	if got := w.post(w.key(w.ada, "chat")); got.StatusCode != 403 {
		t.Errorf("chat: %d", got.StatusCode)
	}
	for range 10 {
		if got := w.post("et_wrong"); got.StatusCode != 401 || got.Header.Get("WWW-Authenticate") != "Bearer" {
			t.Errorf("a wrong key: %d", got.StatusCode)
		}
	}
	if got := w.post("et_wrong"); got.StatusCode != 429 || got.Header.Get("Retry-After") == "" {
		t.Errorf("the eleventh: %d", got.StatusCode)
	}
}

// TestRevoked checks that revoking a key ends a client's open requests.
func TestRevoked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.connect(w.key(w.ada, "read"))
	names(t, s)
	keys, err := w.APIKeys(context.Background(), w.ada.ID)
	check(t, err)
	check(t, w.RevokeAPIKey(context.Background(), w.ada.ID, keys[0].ID))
	if _, err := s.ListTools(context.Background(), nil); err == nil {
		t.Error("a revoked key lists tools")
	}
}

func TestDays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	i, _, err := w.Identify(context.Background(), core.Address{Channel: "telegram", Account: "1", External: "Ada"})
	check(t, err)
	for n := range 55 {
		w.say(i, w.now.AddDate(0, 0, n+1), fmt.Sprint("day ", n))
	}
	s := w.connect(w.key(w.ada, "read"))
	list, err := s.ListResources(context.Background(), nil)
	check(t, err)
	if len(list.Resources) != 50 || list.Resources[0].URI != "everthread://days/2026-03-27" ||
		list.Resources[0].MIMEType != "text/markdown" {
		t.Errorf("%d resources, the first is %+v", len(list.Resources), list.Resources[0])
	}
	templates, err := s.ListResourceTemplates(context.Background(), nil)
	if err != nil || len(templates.ResourceTemplates) != 1 ||
		templates.ResourceTemplates[0].URITemplate != "everthread://days/{label}" {
		t.Errorf("%+v, %v", templates, err)
	}
	day, err := s.ReadResource(context.Background(), &sdk.ReadResourceParams{URI: "everthread://days/2026-01-31"})
	check(t, err)
	if want := "# 2026-01-31\n\n## Conversation\n\n**user** 13:00 [#1]\n\nThe dinghy is called Kestrel.\n"; strings.ReplaceAll(day.Contents[0].Text, "#2]", "#1]") != want {
		t.Errorf("%q", day.Contents[0].Text)
	}
	for _, uri := range []string{"everthread://days/2026-02-30", "everthread://days/2025-01-01", "everthread://days/",
		"everthread://days/2026-01-31/x", "everthread://other/2026-01-31", "file:///etc/passwd"} {
		if out, err := s.ReadResource(context.Background(), &sdk.ReadResourceParams{URI: uri}); err == nil {
			t.Errorf("%s: %+v", uri, out.Contents[0])
		}
	}
	eve := w.connect(w.key(w.eve, "read"))
	if out, err := eve.ReadResource(context.Background(),
		&sdk.ReadResourceParams{URI: "everthread://days/2026-03-27"}); err == nil {
		t.Errorf("another's day: %+v", out.Contents[0])
	}
}

// TestServer_refusesOtherPages checks that requests from other web pages are refused, both under another name of
// this machine and from another origin.
func TestServer_refusesOtherPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	key := w.key(w.ada, "read")
	for _, c := range []struct {
		header []string
		want   int
	}{
		{nil, 200},
		{[]string{"Host", "localhost:8080"}, 200},
		{[]string{"Host", "[::1]:8080"}, 200},
		{[]string{"Host", "chat.example.org"}, 200}, // through a proxy
		{[]string{"Host", "evil.example"}, 403},
		{[]string{"Host", "127.0.0.1.evil.example"}, 403},
		{[]string{"Origin", "https://chat.example.org"}, 200},
		{[]string{"Origin", "http://localhost:6274"}, 200}, // the inspector
		{[]string{"Origin", "https://evil.example"}, 403},
		{[]string{"Origin", "null"}, 403},
		{[]string{"Mcp-Session-Id", "somebody-elses"}, 200}, // without sessions it has no meaning
	} {
		if got := w.post(key, c.header...); got.StatusCode != c.want {
			t.Errorf("%v: %d, want %d", c.header, got.StatusCode, c.want)
		}
	}
	if got := w.post(key); got.Header.Get("Mcp-Session-Id") != "" {
		t.Error("a session began")
	}
}

// TestServer_badInput checks that invalid requests are refused, and the server keeps running.
func TestServer_badInput(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	key := w.key(w.ada, "read")
	for name, c := range map[string]struct {
		method, body string
		want         int
	}{
		"no JSON":            {"POST", `{"jsonrpc"`, 400},
		"nothing":            {"POST", ``, 400},
		"deep nesting":       {"POST", strings.Repeat("[", 100_000), 400},
		"too much":           {"POST", `{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("x", 2<<20) + `"}`, 413},
		"a stream of nobody": {"GET", ``, 405},
		"an end of nothing":  {"DELETE", ``, 405},
	} {
		if got := w.send(c.method, c.body, key); got.StatusCode != c.want {
			t.Errorf("%s: %d, want %d", name, got.StatusCode, c.want)
		}
	}
	if got := w.post(key, "Content-Type", "text/plain"); got.StatusCode != 415 {
		t.Errorf("text: %d", got.StatusCode)
	}
	if got := w.post(key); got.StatusCode != 200 {
		t.Errorf("afterwards: %d", got.StatusCode)
	}
}

// TestStdio_inputEnds checks that a client whose input ends still gets every answer.
func TestStdio_inputEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var out bytes.Buffer
	in := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` + "\n" +
		`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"
	for n := range 20 {
		in += fmt.Sprintf(
			`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"conversation_search","arguments":{"query":"kestrel"}}}`+"\n", n+2)
	}
	check(t, w.server.Stdio(context.Background(), w.ada, io.NopCloser(strings.NewReader(in)), closed{&out}))
	if n := strings.Count(out.String(), "\n"); n != 21 {
		t.Errorf("%d answers to 21 requests", n)
	}
}

// TestStdio_linesThatAreNoMessages checks that such a line is answered with an error, and that what
// follows is answered all the same.
func TestStdio_linesThatAreNoMessages(t *testing.T) {
	t.Parallel()
	const begin = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` + "\n" +
		`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"
	const parse, invalid = `"code":-32700`, `"code":-32600`
	for name, c := range map[string]struct{ line, want string }{
		"words":               {"hello", parse},
		"half an object":      {`{"jsonrpc":"2.0","id":5`, parse},
		"two values":          {`{"jsonrpc":"2.0","id":5,"method":"ping"} {}`, parse},
		"a long line":         {`{"jsonrpc":"2.0","id":5,"method":"` + strings.Repeat("x", 4<<20) + `"}`, parse},
		"a number":            {"7", invalid},
		"a list":              {`[{"jsonrpc":"2.0","id":5,"method":"ping"}]`, invalid},
		"another version":     {`{"jsonrpc":"1.0","id":5,"method":"ping"}`, invalid},
		"an id of no kind":    {`{"jsonrpc":"2.0","id":{},"method":"ping"}`, invalid},
		"an unexpected reply": {`{"jsonrpc":"2.0","id":99,"result":{}}`, ""},
		"an empty line":       {"", ""},
		"blanks":              {" \t\r", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			var out bytes.Buffer
			in := begin + c.line + "\n" + `{"jsonrpc":"2.0","id":"last","method":"ping"}` // without an end of line
			check(t, w.server.Stdio(context.Background(), w.ada, io.NopCloser(strings.NewReader(in)), closed{&out}))
			if !strings.Contains(out.String(), `"id":"last"`) {
				t.Errorf("what followed was not answered: %s", out.String())
			}
			refused := strings.Contains(out.String(), `"id":null`)
			if refused != (c.want != "") || !strings.Contains(out.String(), c.want) {
				t.Errorf("got %s", out.String())
			}
			if n := strings.Count(out.String(), "\n"); n > 3 {
				t.Errorf("%d answers", n)
			}
		})
	}
}

// TestPrivate checks that shared caches are told not to store anything.
func TestPrivate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.connect(w.key(w.ada, "read"))
	out, err := s.ReadResource(context.Background(), &sdk.ReadResourceParams{URI: "everthread://days/2026-01-31"})
	if err != nil || out.CacheScope != "private" {
		t.Errorf("%q, %v", out.CacheScope, err)
	}
}
