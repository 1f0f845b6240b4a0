package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/client"
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

// describe returns the protocol's description of a tool.
func describe(spec core.ToolSpec) *sdk.Tool {
	closed, destroys := false, spec.Name == "memory_archive"
	reads := spec.Name != "memory_add" && spec.Name != "memory_archive"
	return &sdk.Tool{Name: spec.Name, Title: title(spec.Name), Description: spec.Description, InputSchema: spec.Schema,
		Annotations: &sdk.ToolAnnotations{ReadOnlyHint: reads, DestructiveHint: &destroys, IdempotentHint: true,
			OpenWorldHint: &closed}}
}

// title returns the displayed name of a tool.
func title(name string) string {
	words := strings.ReplaceAll(name, "_", " ")
	return strings.ToUpper(words[:1]) + words[1:]
}

// handler runs a tool for a program. An error is the result of the call, so that the
// client's model can correct it.
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

// use runs a tool, and applies its effects.
func (s *Server) use(ctx context.Context, t core.Tool, who client.Caller,
	arguments json.RawMessage) (core.ToolResult, error) {
	out, err := t.Use(ctx, core.ToolUse{User: who.User.ID, Now: s.Now(), Location: who.User.Settings.Location(s.Zone),
		Language: who.User.Settings.Language, Arguments: arguments})
	if err != nil || len(out.Effects) == 0 {
		return out, err
	}
	if _, err := s.Actor.Act(ctx, who.User.ID, out.Effects...); err != nil {
		return out, fmt.Errorf("it could not be stored: %w", err)
	}
	return out, nil
}
