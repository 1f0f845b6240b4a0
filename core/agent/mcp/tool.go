package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/trust/egress"
)

const (
	longestDescription = 1000     // bytes
	longestText        = 64 << 10 // bytes of a result; the agent cuts it to tokens
	longestComplaint   = 1000     // bytes of an error
)

var (
	_ core.Tool        = (*tool)(nil)
	_ core.OutsideTool = (*tool)(nil)
	_ core.GuardedTool = (*tool)(nil)
)

// tool is a tool of a server.
type tool struct {
	link *link
	name string // as the server knows it
	spec core.ToolSpec
	read bool // the server says that it only reads
}

// May reports whether a user may use the tool.
func (t *tool) May(u core.User) bool { return t.link.server.may(u) }

// Standing says what the configuration says of the tool.
func (t *tool) Standing() (allowed, readOnly bool) {
	s := t.link.server
	readOnly = t.read && s.TrustHints
	return readOnly || slices.Contains(s.Allow, t.name) || slices.Contains(s.Allow, "*"), readOnly
}

// newTool reads what a server says of a tool. spec.Name is given by adopt.
func newTool(l *link, t *sdk.Tool) (*tool, error) {
	if t.Name == "" {
		return nil, errors.New("it has no name")
	}
	schema, err := schemaOf(t.InputSchema)
	if err != nil {
		return nil, err
	}
	description := strings.TrimSpace(t.Description)
	if description == "" {
		description = strings.TrimSpace(t.Title)
	}
	if description == "" {
		description = t.Name
	}
	read := t.Annotations != nil && t.Annotations.ReadOnlyHint
	return &tool{link: l, name: t.Name, read: read, spec: core.ToolSpec{Description: cut(clean(description),
		longestDescription), Schema: schema}}, nil
}

// Spec describes the tool.
func (t *tool) Spec() core.ToolSpec { return t.spec }

// Outside is true: servers are not our own store.
func (t *tool) Outside() bool { return true }

// Use calls the tool.
func (t *tool) Use(ctx context.Context, use core.ToolUse) (core.ToolResult, error) {
	session, down := t.link.state()
	if session == nil {
		select {
		case t.link.wanted <- struct{}{}:
		default:
		}
		if down == nil {
			down = errNotYet
		}
		return core.ToolResult{}, fmt.Errorf("the MCP server %s cannot be reached now: %w", t.link.server.Name, down)
	}
	res, err := session.CallTool(egress.For(ctx, use.User), &sdk.CallToolParams{Name: t.name, Arguments: use.Arguments})
	if err != nil {
		return core.ToolResult{}, t.explain(ctx, err)
	}
	text := textOf(res)
	if res.IsError {
		if text == "" {
			text = "the tool failed and does not say why"
		}
		return core.ToolResult{}, errors.New(cut(text, longestComplaint))
	}
	return core.ToolResult{Text: text, Files: filesOf(res, t.alt())}, nil
}

// longestAlt bounds the words that stand for a picture, in bytes.
const longestAlt = 200

// alt says in words where a picture is from: which tool made it, and what that does.
func (t *tool) alt() string {
	return cut(strings.Join(strings.Fields(t.spec.Name+": "+t.spec.Description), " "), longestAlt)
}

// filesOf are the pictures, recordings and files of a result.
func filesOf(res *sdk.CallToolResult, alt string) []core.File {
	var out []core.File
	for _, c := range res.Content {
		f := core.File{}
		switch c := c.(type) {
		case *sdk.ImageContent:
			f = core.File{MIME: cmp.Or(c.MIMEType, "image/png"), Data: c.Data}
		case *sdk.AudioContent:
			f = core.File{MIME: c.MIMEType, Data: c.Data}
		case *sdk.EmbeddedResource:
			if c.Resource != nil {
				f = core.File{Name: path.Base(c.Resource.URI), MIME: c.Resource.MIMEType, Data: c.Resource.Blob}
			}
		}
		if strings.HasPrefix(f.MIME, "image/") || strings.HasPrefix(http.DetectContentType(f.Data), "image/") {
			f.Alt = alt
		}
		if len(f.Data) > 0 {
			out = append(out, f)
		}
	}
	return out
}

// explain says what became of a call.
func (t *tool) explain(ctx context.Context, err error) error {
	var refused *jsonrpc.Error
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &refused):
		return errors.New(cut("the MCP server "+t.link.server.Name+" refused the call: "+clean(refused.Message),
			longestComplaint))
	}
	return fmt.Errorf("the connection to the MCP server %s broke in the call, which may have taken effect or not: %w",
		t.link.server.Name, t.link.broke(ctx, err))
}

// textOf is what of a result is for the model: its text, and the names of what
// else there is. What becomes of files is said where they are kept.
func textOf(res *sdk.CallToolResult) string {
	var parts []string
	for _, c := range res.Content {
		parts = append(parts, partOf(c))
	}
	if len(parts) == 0 && res.StructuredContent != nil {
		if text, err := json.Marshal(res.StructuredContent); err == nil {
			parts = append(parts, string(text))
		}
	}
	return clean(middle(strings.Join(parts, "\n"), longestText))
}

func partOf(c sdk.Content) string {
	switch c := c.(type) {
	case *sdk.TextContent:
		return c.Text
	case *sdk.ImageContent:
		return unseen("image", c.MIMEType, len(c.Data))
	case *sdk.AudioContent:
		return unseen("audio", c.MIMEType, len(c.Data))
	case *sdk.ResourceLink:
		return fmt.Sprintf("[link to %s: %s]", c.Name, c.URI)
	case *sdk.EmbeddedResource:
		if c.Resource == nil {
			return "[empty resource]"
		}
		if c.Resource.Blob != nil {
			return unseen("file "+c.Resource.URI, c.Resource.MIMEType, len(c.Resource.Blob))
		}
		return c.Resource.Text
	}
	return "[content of another kind, not shown]"
}

func unseen(what, mime string, size int) string {
	return strings.Join(strings.Fields(fmt.Sprintf("[%s %s of %d bytes]", what, mime, size)), " ")
}

// clean takes out what is no text: broken UTF-8 and control characters.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0x7f {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}

// cut returns at most most bytes of text, and … if it is longer.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return text[:boundary(text, most)] + "…"
}

// middle takes out the middle of a text that is longer than most bytes.
func middle(text string, most int) string {
	if len(text) <= most {
		return text
	}
	first, last := boundary(text, most*3/4), boundary(text, len(text)-most/4)
	return fmt.Sprintf("%s\n[… %d bytes of tool output left out]\n%s", text[:first], last-first, text[last:])
}

// boundary returns the start of the rune that i is in.
func boundary(text string, i int) int {
	for back := range utf8.UTFMax {
		if i-back >= 0 && i < len(text) && utf8.RuneStart(text[i-back]) {
			return i - back
		}
	}
	return i
}
