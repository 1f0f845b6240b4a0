package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/everthread/everthread/internal/fulltest"
)

// mode is the environment variable that makes the test binary a server of the given kind.
const mode = "MCP_TEST_SERVER"

func TestMain(m *testing.M) {
	if kind := os.Getenv(mode); kind != "" {
		os.Exit(serve(kind))
	}
	fulltest.Waits()
	goleak.VerifyTestMain(m)
}

// serve runs a program that speaks MCP, or fails to, on its standard input and output.
func serve(kind string) int {
	switch kind {
	case "dead":
		fmt.Fprintln(os.Stderr, "no licence")
		return 3
	case "mute":
		_, _ = bufio.NewReader(os.Stdin).ReadString(0)
		return 0
	case "stubborn": // ends neither with its input nor on request
		_ = newServer(kind).Run(context.Background(), &sdk.StdioTransport{})
		time.Sleep(time.Minute) // until the process is killed
		return 0
	case "garbage":
		fmt.Println("Welcome to the server!")
		_, _ = bufio.NewReader(os.Stdin).ReadString(0)
		return 0
	case "once": // after a restart the list differs
		if path := os.Getenv("MCP_TEST_FILE"); path != "" {
			if _, err := os.Stat(path); err == nil {
				kind = "changed"
			} else if err := os.WriteFile(path, nil, 0o600); err != nil {
				return 4
			}
		}
	}
	if err := newServer(kind).Run(context.Background(), &sdk.StdioTransport{}); err != nil {
		return 1
	}
	return 0
}

// object returns a schema with one text property.
func object(name string) map[string]any {
	return map[string]any{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
		"properties": map[string]any{name: map[string]any{"type": "string"}}}
}

// handler runs a call.
type handler func(ctx context.Context, arguments map[string]any) (*sdk.CallToolResult, error)

func textResult(s string) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: s}}}
}

// endless are servers whose lists of tools do not end, by kind: their n-th pages.
var endless = map[string]func(n int) *sdk.ListToolsResult{
	"same cursor":  func(int) *sdk.ListToolsResult { return pageOf("again", "a", "b") },
	"same tools":   func(n int) *sdk.ListToolsResult { return pageOf(fmt.Sprint(n), "a", "b") },
	"same cursors": func(n int) *sdk.ListToolsResult { return pageOf(fmt.Sprint(n%2), []string{"a", "b"}[n%2]) },
	"empty pages":  func(n int) *sdk.ListToolsResult { return pageOf("again", []string{"a", "b"}[:max(0, 3-2*n)*2]...) },
	"twice": func(n int) *sdk.ListToolsResult {
		if n == 1 {
			return pageOf("2", "a", "a")
		}
		return pageOf("", "b")
	},
}

func pageOf(next string, names ...string) *sdk.ListToolsResult {
	r := &sdk.ListToolsResult{NextCursor: next, Tools: []*sdk.Tool{}}
	for _, name := range names {
		r.Tools = append(r.Tools, &sdk.Tool{Name: name, InputSchema: object("x")})
	}
	return r
}

// newServer returns a server with the tools of a kind.
func newServer(kind string) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	add := func(name string, schema any, do handler) {
		s.AddTool(&sdk.Tool{Name: name, Description: "does " + name, InputSchema: schema},
			func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				var arguments map[string]any
				if err := json.Unmarshal(req.Params.Arguments, &arguments); err != nil {
					return nil, err
				}
				return do(ctx, arguments)
			})
	}
	if kind == "changed" {
		add("another", object("x"), func(context.Context, map[string]any) (*sdk.CallToolResult, error) {
			return textResult("new"),
				nil
		})
		return s
	}
	if pages := endless[kind]; pages != nil {
		s.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
			n := 0
			return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
				if method != "tools/list" {
					return next(ctx, method, req)
				}
				n++
				return pages(n), nil
			}
		})
		add("a", object("x"), nil)
		return s
	}
	if kind == "odd" {
		addOdd(add)
		return s
	}
	add("echo", object("text"), func(_ context.Context, a map[string]any) (*sdk.CallToolResult, error) {
		return textResult(fmt.Sprint("you said ", a["text"])), nil
	})
	add("fail", object("x"), func(context.Context, map[string]any) (*sdk.CallToolResult, error) {
		res := textResult("there is no such file")
		res.IsError = true
		return res, nil
	})
	add("refuse", object("x"), func(context.Context, map[string]any) (*sdk.CallToolResult, error) {
		return nil, fmt.Errorf("not today")
	})
	add("crash", object("x"), func(context.Context, map[string]any) (*sdk.CallToolResult, error) {
		os.Exit(7)
		return nil, nil
	})
	add("slow", object("x"), func(ctx context.Context, _ map[string]any) (*sdk.CallToolResult, error) {
		<-ctx.Done()
		return textResult("late"), nil
	})
	add("flood", object("bytes"), func(_ context.Context, a map[string]any) (*sdk.CallToolResult, error) {
		var n int
		if _, err := fmt.Sscan(fmt.Sprint(a["bytes"]), &n); err != nil {
			return nil, err
		}
		return textResult("first" + strings.Repeat("x", n) + "last"), nil
	})
	add("mixed", object("x"), func(context.Context, map[string]any) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{
			&sdk.TextContent{Text: "a\x00b\x1b[31m\n"}, &sdk.ImageContent{MIMEType: "image/png", Data: make([]byte, 300)},
			&sdk.AudioContent{MIMEType: "audio/ogg", Data: make([]byte, 20)},
			&sdk.ResourceLink{Name: "notes", URI: "file:///notes.txt"},
			&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "file:///a", Text: "inside"}},
			&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "file:///b", MIMEType: "application/zip",
				Blob: make([]byte, 9)}},
		}}, nil
	})
	add("structured", object("x"), func(context.Context, map[string]any) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{StructuredContent: map[string]any{"n": 1}}, nil
	})
	add("environment", object("x"), func(context.Context, map[string]any) (*sdk.CallToolResult, error) {
		return textResult(strings.Join(os.Environ(), "\n")), nil
	})
	return s
}

// addOdd adds tools whose names and schemas are unusual.
func addOdd(add func(string, any, handler)) {
	ok := func(context.Context, map[string]any) (*sdk.CallToolResult, error) { return textResult("ok"), nil }
	add("with.dots", object("x"), ok)
	add("with-dots", object("x"), ok)
	add("with_dots", object("x"), ok)
	add(strings.Repeat("long", 30), object("x"), ok)
	add(strings.Repeat("long", 31), object("x"), ok)
	add("bare", map[string]any{"type": "object"}, ok)
	add("phplist", map[string]any{"type": "object", "properties": []any{}}, ok)
	add("badproperty", map[string]any{"type": "object", "properties": map[string]any{"x": "string"}}, ok)
	add("badproperties", map[string]any{"type": "object", "properties": []any{"x"}}, ok)
	add("badrequired", map[string]any{"type": "object", "properties": map[string]any{}, "required": "x"}, ok)
	add("badrequireds", map[string]any{"type": "object", "properties": map[string]any{}, "required": []any{1}}, ok)
}

// streamable serves s over HTTP, for requests that good accepts.
func streamable(t *testing.T, s *sdk.Server, good func(r *http.Request) bool) http.Handler {
	t.Cleanup(func() {
		for session := range s.Sessions() {
			_ = session.Close()
		}
	})
	h := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, &sdk.StreamableHTTPOptions{})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !good(r) {
			http.Error(w, "no entry", http.StatusUnauthorized)
			return
		}
		h.ServeHTTP(w, r)
	})
}
