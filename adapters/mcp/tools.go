package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/accounts/client"
	"github.com/everthread/everthread/core/effect"
)

// scopeOf returns the scope that a tool needs; for an unknown tool, one that nobody has.
func scopeOf(tool string) core.Capability {
	switch {
	case strings.HasPrefix(tool, "conversation_"):
		return core.CanRead
	case strings.HasPrefix(tool, "memory_"):
		return core.CanMemory
	}
	return ""
}

func describe(spec core.ToolSpec) *sdk.Tool {
	closed, destroys := false, spec.Name == "memory_archive"
	reads := spec.Name != "memory_add" && spec.Name != "memory_archive"
	return &sdk.Tool{Name: spec.Name, Title: title(spec.Name), Description: spec.Description, InputSchema: spec.Schema,
		Annotations: &sdk.ToolAnnotations{ReadOnlyHint: reads, DestructiveHint: &destroys, IdempotentHint: true,
			OpenWorldHint: &closed}}
}

func title(name string) string {
	words := strings.ReplaceAll(name, "_", " ")
	return strings.ToUpper(words[:1]) + words[1:]
}

// handler runs a tool for a program. An error is the result of the call, so that the client's model can correct it.
func (s *Server) handler(t core.Tool, who client.Caller) sdk.ToolHandler {
	return func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		out, err := s.use(ctx, t, who, req.Params.Arguments)
		if err != nil {
			s.Log.Debug("tool failed", zap.String("tool", t.Spec().Name), zap.Int64("user", int64(who.User.ID)),
				zap.Error(err))
			return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: err.Error()}}}, nil
		}
		res := &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: out.Text}}}
		if strings.HasPrefix(out.Text, "{") && json.Valid([]byte(out.Text)) {
			res.StructuredContent = json.RawMessage(out.Text)
		}
		return res, nil
	}
}

// use runs a tool, and applies its effects, marked as made from words that the person did not write.
func (s *Server) use(ctx context.Context, t core.Tool, who client.Caller,
	arguments json.RawMessage) (core.ToolResult, error) {
	out, err := t.Use(ctx, core.ToolUse{User: who.User.ID, Now: s.Now(), Location: who.User.Settings.Location(s.Zone),
		Language: who.User.Settings.Language, Arguments: arguments})
	if err != nil || len(out.Effects) == 0 {
		return out, err
	}
	for n, e := range out.Effects {
		out.Effects[n] = effect.Taint(e)
	}
	if _, err := s.Actor.Act(ctx, who.User.ID, out.Effects...); err != nil {
		return out, fmt.Errorf("it could not be stored: %w", err)
	}
	return out, nil
}

// Days are resources: their summary and messages, as Markdown.
const (
	dayURI        = "everthread://days/"
	markdown      = "text/markdown"
	listedDays    = 50   // newest days listed
	shownMessages = 2000 // messages of a day
)

// addDays offers the days of a user. The list is read for each request.
func (s *Server) addDays(server *sdk.Server, who client.Caller) {
	read := func(ctx context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		return s.readDay(ctx, who, req.Params.URI)
	}
	server.AddResourceTemplate(&sdk.ResourceTemplate{Name: "day", Title: "A day of the conversation",
		URITemplate: dayURI + "{label}", MIMEType: markdown,
		Description: "The summary of a day and what was said, as Markdown. label is the date, such as 2026-01-31."}, read)
	server.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			out, err := next(ctx, method, req)
			if list, ok := out.(*sdk.ListResourcesResult); ok && err == nil {
				list.Resources, err = s.listDays(ctx, who)
			}
			return out, err
		}
	})
}

func (s *Server) listDays(ctx context.Context, who client.Caller) ([]*sdk.Resource, error) {
	days, err := s.Days.Days(ctx, who.User.ID, "", listedDays)
	if err != nil {
		return nil, fmt.Errorf("list days: %w", err)
	}
	out := make([]*sdk.Resource, 0, len(days))
	for _, g := range days {
		out = append(out, &sdk.Resource{URI: dayURI + g.Day.Label, Name: g.Day.Label, Title: "Conversation of " + g.Day.Label,
			MIMEType: markdown, Description: fmt.Sprintf("%d messages", g.Messages)})
	}
	return out, nil
}

func (s *Server) readDay(ctx context.Context, who client.Caller, uri string) (*sdk.ReadResourceResult, error) {
	label := strings.TrimPrefix(uri, dayURI)
	if _, err := time.Parse(time.DateOnly, label); err != nil {
		return nil, sdk.ResourceNotFoundError(uri)
	}
	g, err := s.Days.Day(ctx, who.User.ID, label)
	if errors.Is(err, core.ErrNotFound) {
		return nil, sdk.ResourceNotFoundError(uri)
	}
	if err != nil {
		return nil, fmt.Errorf("read the day: %w", err)
	}
	text, err := s.write(ctx, who, g)
	if err != nil {
		return nil, err
	}
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: uri, MIMEType: markdown, Text: text}}}, nil
}

func (s *Server) write(ctx context.Context, who client.Caller, g core.Segment) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n", g.Day.Label)
	if !g.Hidden {
		all, err := s.Days.Summaries(ctx, who.User.ID, g.ID, 1)
		if err != nil {
			return "", fmt.Errorf("read the summary: %w", err)
		}
		if len(all) > 0 {
			fmt.Fprintf(&b, "%s\n\n", strings.TrimSpace(all[0].Markdown))
		}
	}
	ms, err := s.Days.DayMessages(ctx, who.User.ID, g.ID, 0, shownMessages+1)
	if err != nil {
		return "", fmt.Errorf("read the messages: %w", err)
	}
	more := len(ms) > shownMessages
	ms = ms[:min(len(ms), shownMessages)]
	core.InTime(ms)
	b.WriteString("## Conversation\n")
	zone := who.User.Settings.Location(s.Zone)
	for _, m := range ms {
		if m.Role != core.RoleTool && m.Text != "" && !m.Redacted {
			fmt.Fprintf(&b, "\n**%s** %s [#%d]\n\n%s\n", m.Role, m.SentAt.In(zone).Format("15:04"), m.ID, m.Text)
		}
	}
	if more {
		fmt.Fprintf(&b, "\n(There is more; conversation_get reads it by day_segment_id %d.)\n", g.ID)
	}
	return b.String(), nil
}
