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

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/text"
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
	_ core.ServedTool  = (*tool)(nil)
)

// tool is a tool of a server.
type tool struct {
	link *link
	name string // of the server
	spec core.ToolSpec
	read bool // the server marks it as read-only
	shut bool // the server marks it as reaching nothing beyond its own data
}

// May reports whether a user may use the tool.
func (t *tool) May(u core.User) bool {
	s := t.link.server
	return s.May(u) && (!s.OAuth || slices.Contains(u.Services, s.Name))
}

// Standing reports whether the configuration allows the tool, and trusts it to only read.
func (t *tool) Standing() (allowed, readOnly bool) {
	s := t.link.server
	readOnly = t.read && s.TrustHints
	return readOnly || slices.Contains(s.Allow, t.name) || slices.Contains(s.Allow, "*"), readOnly
}

// Server returns the name of the server.
func (t *tool) Server() string { return t.link.server.Name }

// Closed reports whether the server says so, and the configuration trusts it.
func (t *tool) Closed() bool { return t.shut && t.link.server.TrustHints }

// newTool reads a server's description of a tool. Adopt sets spec.Name.
func newTool(l *link, t *sdk.Tool) (*tool, error) {
	if t.Name == "" {
		return nil, errors.New("it has no name")
	}
	schema, err := schemaOf(t.InputSchema)
	if err != nil {
		return nil, err
	}
	description := cmp.Or(strings.TrimSpace(t.Description), strings.TrimSpace(t.Title), t.Name)
	hints := cmp.Or(t.Annotations, &sdk.ToolAnnotations{})
	shut := hints.OpenWorldHint != nil && !*hints.OpenWorldHint
	spec := core.ToolSpec{Description: cut(clean(description), longestDescription), Schema: schema}
	return &tool{link: l, name: t.Name, read: hints.ReadOnlyHint, shut: shut, spec: spec}, nil
}

// Spec describes the tool.
func (t *tool) Spec() core.ToolSpec { return t.spec }

// Outside is true: a server acts outside of our store.
func (t *tool) Outside() bool { return true }

// Use calls the tool.
func (t *tool) Use(ctx context.Context, use core.ToolUse) (core.ToolResult, error) {
	l := t.link
	if l.people != nil {
		p, done, err := l.people.reach(ctx, l, use.User)
		if err != nil {
			return core.ToolResult{}, err
		}
		defer done()
		l = p
	}
	session, down := l.state()
	if session == nil {
		select {
		case l.wanted <- struct{}{}:
		default:
		}
		return core.ToolResult{}, fmt.Errorf("the MCP server %s cannot be reached now: %w", t.link.server.Name,
			cmp.Or(down, errNotYet))
	}
	res, err := session.CallTool(egress.For(ctx, use.User), &sdk.CallToolParams{Name: t.name, Arguments: use.Arguments})
	if err != nil {
		return core.ToolResult{}, t.explain(ctx, l, err)
	}
	output := textOf(res)
	if res.IsError {
		return core.ToolResult{}, errors.New(cut(cmp.Or(output, "the tool failed and does not say why"), longestComplaint))
	}
	return core.ToolResult{Text: output, Files: filesOf(res, t.alt())}, nil
}

// longestAlt bounds the alternative text of a picture, in bytes.
const longestAlt = 200

// alt returns the alternative text of a picture: the tool that made it, and what that does.
func (t *tool) alt() string {
	return cut(text.OneLine(t.spec.Name+": "+t.spec.Description), longestAlt)
}

// filesOf returns the pictures, recordings and files of a result.
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

// explain returns the error of a failed call for the model.
func (t *tool) explain(ctx context.Context, l *link, err error) error {
	var refused *jsonrpc.Error
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &refused):
		return errors.New(cut("the MCP server "+t.link.server.Name+" refused the call: "+clean(refused.Message),
			longestComplaint))
	}
	return fmt.Errorf("the connection to the MCP server %s broke in the call, which may have taken effect or not: %w",
		l.server.Name, l.broke(ctx, err))
}

// textOf returns a result as text for the model, with the names of other content. The agent adds what becomes of files.
func textOf(res *sdk.CallToolResult) string {
	var parts []string
	for _, c := range res.Content {
		parts = append(parts, partOf(c))
	}
	if len(parts) == 0 && res.StructuredContent != nil {
		if structured, err := json.Marshal(res.StructuredContent); err == nil {
			parts = append(parts, string(structured))
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
	return text.OneLine(fmt.Sprintf("[%s %s of %d bytes]", what, mime, size))
}

// clean replaces invalid UTF-8 and removes control characters.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0x7f {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// cut returns at most most bytes of s, and … if it is longer.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return s[:text.RuneStart(s, most)] + "…"
}

// middle removes the middle of a text that is longer than most bytes.
func middle(s string, most int) string {
	if len(s) <= most {
		return s
	}
	first, last := text.RuneStart(s, most*3/4), text.RuneStart(s, len(s)-most/4)
	return fmt.Sprintf("%s\n[… %d bytes of tool output left out]\n%s", s[:first], last-first, s[last:])
}
