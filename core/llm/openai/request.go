package openai

import (
	"encoding/base64"
	"encoding/json"
	"strconv"

	"github.com/everthread/everthread/core"
)

// chatRequest is the body of POST /chat/completions.
type chatRequest struct {
	Model               string         `json:"model"`
	Stream              bool           `json:"stream"`
	StreamOptions       *streamOptions `json:"stream_options,omitempty"`
	MaxTokens           int            `json:"max_tokens,omitempty"`
	MaxCompletionTokens int            `json:"max_completion_tokens,omitempty"`
	ReasoningEffort     string         `json:"reasoning_effort,omitempty"`
	User                string         `json:"user,omitempty"`
	SafetyIdentifier    string         `json:"safety_identifier,omitempty"`
	PromptCacheKey      string         `json:"prompt_cache_key,omitempty"`
	Tools               []tool         `json:"tools,omitempty"`
	ToolChoice          any            `json:"tool_choice,omitempty"`
	Messages            []message      `json:"messages"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type tool struct {
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
}

// message always has content, since some servers refuse it missing or null.
type message struct {
	Role       core.Role  `json:"role"`
	Content    any        `json:"content"` // string or []part
	ToolCalls  []toolCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
	thoughts
}

type part struct {
	Type  string    `json:"type"`
	Text  string    `json:"text,omitempty"`
	Image *imageURL `json:"image_url,omitempty"`
}

type imageURL struct {
	URL string `json:"url"`
}

// request returns the body of a request; bare, without optional parameters.
func (m *model) request(req core.ModelRequest, bare bool) chatRequest {
	body := chatRequest{
		Model:    m.options.Model,
		Stream:   true,
		Tools:    tools(req.Tools),
		Messages: m.messages(req.Messages, bare),
	}
	if !bare {
		m.optional(&body, req)
	}
	return body
}

// optional adds what a server may not know.
func (m *model) optional(body *chatRequest, req core.ModelRequest) {
	body.StreamOptions = &streamOptions{IncludeUsage: true}
	body.ToolChoice, body.ReasoningEffort = choice(req), m.options.Effort
	if m.own {
		body.MaxCompletionTokens = req.MaxTokens
	} else {
		body.MaxTokens = req.MaxTokens
	}
	switch user := "everthread-" + strconv.FormatInt(int64(req.User), 10); {
	case req.User == 0:
	case m.own:
		body.SafetyIdentifier, body.PromptCacheKey = user, user
	default:
		body.User = user
	}
}

func tools(specs []core.ToolSpec) []tool {
	out := make([]tool, 0, len(specs))
	for _, s := range specs {
		out = append(out, tool{"function", function{Name: s.Name, Description: s.Description, Parameters: s.Schema}})
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

// messages joins the leading system messages into one: the templates of many local models accept only one, at the start.
// Thoughts go back only while the model uses tools, that is after the person's last message, and not with bare.
func (m *model) messages(in []core.ModelMessage, bare bool) []message {
	out := make([]message, 0, len(in))
	latest := 0
	for i, one := range in {
		if one.Role == core.RoleUser {
			latest = i
		}
	}
	for i, one := range in {
		if i > 0 && one.Role == core.RoleSystem && len(out) == 1 && out[0].Role == core.RoleSystem {
			out[0].Content = out[0].Content.(string) + "\n\n" + one.Content
			continue
		}
		next := message{Role: one.Role, Content: content(one), ToolCallID: one.ToolCallID}
		for _, call := range one.ToolCalls {
			e := extraOf(call, m.source())
			if e.Message != nil && i > latest && !bare {
				next.thoughts = *e.Message
			}
			next.ToolCalls = append(next.ToolCalls,
				toolCall{call.ID, "function", calledInFull{Name: call.Name, Arguments: call.Arguments}, e.Call})
		}
		out = append(out, next)
	}
	return out
}

func content(m core.ModelMessage) any {
	if len(m.Images) == 0 || m.Role != core.RoleUser {
		return m.Content
	}
	var parts []part
	if m.Content != "" {
		parts = append(parts, part{Type: "text", Text: m.Content})
	}
	for _, image := range m.Images {
		data := "data:" + image.MIME + ";base64," + base64.StdEncoding.EncodeToString(image.Data)
		parts = append(parts, part{Type: "image_url", Image: &imageURL{data}})
	}
	return parts
}
