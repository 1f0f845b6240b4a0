//go:build e2e

package e2etest

import (
	"context"
	"fmt"
	"os"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// mcpLedger is the variable that makes the test binary an MCP server on its standard input
// and output; its value is the file in which calls are recorded.
const mcpLedger = "EVERTHREAD_TEST_MCP"

// serveMCP serves until the input ends.
func serveMCP(path string) int {
	if err := newMCP(path).Run(context.Background(), &sdk.StdioTransport{}); err != nil {
		return 1
	}
	return 0
}

type lookup struct {
	Item string `json:"item"`
}

type mail struct {
	To   string `json:"to"`
	Text string `json:"text,omitempty"`
}

// newMCP returns a shop with tools for its stock and pictures of it; it also dies, hangs
// and floods on demand, and sends no end of a mail to "never".
func newMCP(path string) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "shop", Version: "1"}, nil)
	reads := &sdk.ToolAnnotations{ReadOnlyHint: true}
	add := func(name string, do func(ctx context.Context, in lookup) string) {
		sdk.AddTool(s, &sdk.Tool{Name: name, Description: "The shop: " + name, Annotations: reads},
			func(ctx context.Context, _ *sdk.CallToolRequest, in lookup) (*sdk.CallToolResult, any, error) {
				return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: do(ctx, in)}}}, nil, nil
			})
	}
	add("stock", func(_ context.Context, in lookup) string {
		if err := note(path, in.Item); err != nil {
			return err.Error()
		}
		return "42 boxes of " + in.Item
	})
	sdk.AddTool(s, &sdk.Tool{Name: "draw", Description: "The shop: draw", Annotations: reads},
		func(_ context.Context, _ *sdk.CallToolRequest, in lookup) (*sdk.CallToolResult, any, error) {
			return draw(in.Item), nil, note(path, in.Item)
		})
	add("inbox", func(context.Context, lookup) string {
		letter, err := os.ReadFile(path + ".inbox")
		if err != nil {
			return err.Error()
		}
		return string(letter)
	})
	sdk.AddTool(s, &sdk.Tool{Name: "page", Description: "The shop: page", Annotations: reads},
		func(context.Context, *sdk.CallToolRequest, lookup) (*sdk.CallToolResult, any, error) {
			text, err := os.ReadFile(path + ".inbox")
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{
				URI: "https://example.org/page", MIMEType: "text/html", Text: string(text)}}}}, nil, err
		})
	add("letter", func(_ context.Context, in lookup) string { return in.Item })
	sdk.AddTool(s, &sdk.Tool{Name: "mail", Description: "Send a mail"}, func(ctx context.Context, _ *sdk.CallToolRequest,
		in mail) (*sdk.CallToolResult, any, error) {
		err := note(path, "mail:"+in.To)
		if in.To == "never" {
			<-ctx.Done()
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "sent to " + in.To}}}, nil, err
	})
	sdk.AddTool(s, &sdk.Tool{Name: "order", Description: "Order a thing"}, func(_ context.Context, _ *sdk.CallToolRequest,
		in lookup) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "ordered " + in.Item}}}, nil,
			note(path, "order:"+in.Item)
	})
	add("die", func(context.Context, lookup) string { os.Exit(7); return "" })
	add("hang", func(ctx context.Context, _ lookup) string { <-ctx.Done(); return "late" })
	add("flood", func(context.Context, lookup) string { return "start" + strings.Repeat("flood ", 8<<20) + "end" })
	return s
}

// draw returns a picture of a thing, and its plan as a file.
func draw(item string) *sdk.CallToolResult {
	if item == "gallery" {
		return gallery()
	}
	return &sdk.CallToolResult{Content: []sdk.Content{
		&sdk.TextContent{Text: "a drawing of " + item},
		&sdk.ImageContent{MIMEType: "image/png", Data: Picture},
		&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "file:///plans/" + Drawn, MIMEType: "text/plain",
			Blob: []byte("plan of " + item)}},
	}}
}

// gallery returns an invalid picture, and then two valid ones.
func gallery() *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{
		&sdk.ImageContent{MIMEType: "image/svg+xml",
			Data: []byte(`<svg xmlns="http://www.w3.org/2000/svg"><script>x()</script></svg>`)},
		&sdk.ImageContent{MIMEType: "image/png", Data: []byte("<!doctype html><script>x()</script>")},
		&sdk.ImageContent{MIMEType: "image/jpeg", Data: Picture},
		&sdk.ImageContent{MIMEType: "image/png", Data: Picture},
	}}
}

// note adds a line to a file.
func note(path, line string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, line)
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}
