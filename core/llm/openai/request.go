package openai

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"strconv"

	api "github.com/sashabaranov/go-openai"

	"github.com/everthread/everthread/core"
)

// parameter is a set of optional parameters that a server may not know.
type parameter int32

const (
	parameterLimit  parameter = 1 << iota // the usual one of max_tokens and max_completion_tokens
	parameterUsage                        // stream_options
	parameterUser                         // user, safety_identifier, prompt_cache_key
	parameterLimits                       // the other one too
)

// chatRequest is the body of POST /chat/completions.
type chatRequest struct {
	Model               string             `json:"model"`
	Stream              bool               `json:"stream"`
	StreamOptions       *api.StreamOptions `json:"stream_options,omitempty"`
	MaxTokens           int                `json:"max_tokens,omitempty"`
	MaxCompletionTokens int                `json:"max_completion_tokens,omitempty"`
	User                string             `json:"user,omitempty"`
	SafetyIdentifier    string             `json:"safety_identifier,omitempty"`
	PromptCacheKey      string             `json:"prompt_cache_key,omitempty"`
	Tools               []tool             `json:"tools,omitempty"`
	ToolChoice          any                `json:"tool_choice,omitempty"`
	Messages            []message          `json:"messages"`
}

type tool struct {
	Type     string                 `json:"type"`
	Function api.FunctionDefinition `json:"function"`
}

// message always has content, since some servers refuse it missing or null.
type message struct {
	Role       core.Role  `json:"role"`
	Content    any        `json:"content"` // string or []api.ChatMessagePart
	ToolCalls  []toolCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
}

type toolCall struct {
	ID       string           `json:"id"`
	Type     string           `json:"type"`
	Function api.FunctionCall `json:"function"`
}

// encode writes the body of a request, without the parameters that the server lacks.
func (m *model) encode(w io.Writer, req core.ModelRequest, lacks parameter) error {
	body := chatRequest{
		Model:      m.options.Model,
		Stream:     true,
		Tools:      tools(req.Tools),
		ToolChoice: choice(req),
		Messages:   messages(req.Messages),
	}
	if lacks&parameterUsage == 0 {
		body.StreamOptions = &api.StreamOptions{IncludeUsage: true}
	}
	switch newer := m.own != (lacks&parameterLimit != 0); {
	case lacks&parameterLimits != 0:
	case newer:
		body.MaxCompletionTokens = req.MaxTokens
	default:
		body.MaxTokens = req.MaxTokens
	}
	switch user := "everthread-" + strconv.FormatInt(int64(req.User), 10); {
	case lacks&parameterUser != 0 || req.User == 0:
	case m.own:
		body.SafetyIdentifier, body.PromptCacheKey = user, user
	default:
		body.User = user
	}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(body)
}

func tools(specs []core.ToolSpec) []tool {
	out := make([]tool, 0, len(specs))
	for _, s := range specs {
		f := api.FunctionDefinition{Name: s.Name, Description: s.Description, Parameters: s.Schema}
		out = append(out, tool{"function", f})
	}
	return out
}

// choice returns the tool_choice of a request; nil: the server's default.
func choice(req core.ModelRequest) any {
	switch {
	case req.Choice == "" || len(req.Tools) == 0:
		return nil
	case req.Choice == "auto" || req.Choice == "none" || req.Choice == "required":
		return req.Choice
	}
	return map[string]any{"type": "function", "function": map[string]string{"name": req.Choice}}
}

// messages joins the leading system messages into one: the templates of many
// local models accept only one, at the start.
func messages(in []core.ModelMessage) []message {
	out := make([]message, 0, len(in))
	for i, m := range in {
		if i > 0 && m.Role == core.RoleSystem && len(out) == 1 && out[0].Role == core.RoleSystem {
			out[0].Content = out[0].Content.(string) + "\n\n" + m.Content
			continue
		}
		out = append(out, message{
			Role: m.Role, Content: content(m), ToolCalls: toolCalls(m.ToolCalls), ToolCallID: m.ToolCallID,
		})
	}
	return out
}

func content(m core.ModelMessage) any {
	if len(m.Images) == 0 || m.Role != core.RoleUser {
		return m.Content
	}
	var parts []api.ChatMessagePart
	if m.Content != "" {
		parts = append(parts, api.ChatMessagePart{Type: api.ChatMessagePartTypeText, Text: m.Content})
	}
	for _, image := range m.Images {
		data := "data:" + image.MIME + ";base64," + base64.StdEncoding.EncodeToString(image.Data)
		parts = append(parts, api.ChatMessagePart{
			Type:     api.ChatMessagePartTypeImageURL,
			ImageURL: &api.ChatMessageImageURL{URL: data},
		})
	}
	return parts
}

func toolCalls(calls []core.ToolCall) []toolCall {
	var out []toolCall
	for _, call := range calls {
		out = append(out, toolCall{call.ID, "function", api.FunctionCall{Name: call.Name, Arguments: call.Arguments}})
	}
	return out
}
