package anthropic

import (
	"encoding/base64"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/llm"
)

// request is the body of POST /v1/messages.
type request struct {
	Model        string        `json:"model"`
	MaxTokens    int           `json:"max_tokens"`
	Stream       bool          `json:"stream"`
	Metadata     *metadata     `json:"metadata,omitempty"`
	Thinking     *kind         `json:"thinking,omitempty"`
	OutputConfig *outputConfig `json:"output_config,omitempty"`
	System       []*content    `json:"system,omitempty"`
	Tools        []tool        `json:"tools,omitempty"`
	ToolChoice   *toolChoice   `json:"tool_choice,omitempty"`
	Messages     []message     `json:"messages"`
}

type (
	metadata struct {
		UserID string `json:"user_id"`
	}
	kind struct {
		Type string `json:"type"`
	}
	outputConfig struct {
		Effort string `json:"effort"`
	}
	tool struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		InputSchema json.RawMessage `json:"input_schema"`
	}
	toolChoice struct {
		Type string `json:"type"`
		Name string `json:"name,omitempty"`
	}
	message struct {
		Role    core.Role  `json:"role"`
		Content []*content `json:"content"`
	}
	source struct {
		Type      string `json:"type"`
		MediaType string `json:"media_type"`
		Data      string `json:"data"`
	}
)

// content is a block of a message. A block of thoughts is raw.
type content struct {
	Type         string          `json:"type"`
	Text         string          `json:"text,omitempty"`
	Source       *source         `json:"source,omitempty"`
	ID           string          `json:"id,omitempty"`
	Name         string          `json:"name,omitempty"`
	Input        json.RawMessage `json:"input,omitempty"`
	ToolUseID    string          `json:"tool_use_id,omitempty"`
	IsError      bool            `json:"is_error,omitempty"`
	Content      []*content      `json:"content,omitempty"`
	CacheControl *kind           `json:"cache_control,omitempty"`
	raw          json.RawMessage
}

// MarshalJSON returns the block.
func (c *content) MarshalJSON() ([]byte, error) {
	type plain content
	if c.raw != nil {
		return c.raw, nil
	}
	return json.Marshal((*plain)(c))
}

func words(s string) *content { return &content{Type: "text", Text: s} }

// request returns a request in Anthropic's form; bare, without what a server or an older model may not know.
func (m *model) request(req core.ModelRequest, bare bool) request {
	c := m.convert(req, bare)
	r := request{Model: m.options.Model, MaxTokens: defaultTokens, Stream: true, System: c.system, Messages: c.messages}
	switch {
	case req.MaxTokens > 0:
		r.MaxTokens = req.MaxTokens
	case bare:
		r.MaxTokens = bareTokens
	}
	for _, spec := range req.Tools {
		r.Tools = append(r.Tools, tool{spec.Name, spec.Description, spec.Schema})
	}
	if len(req.Tools) > 0 {
		r.ToolChoice = choice(req.Choice)
	}
	if bare {
		return r
	}
	if req.User != 0 {
		r.Metadata = &metadata{"everthread-" + strconv.FormatInt(int64(req.User), 10)}
	}
	if forced := r.ToolChoice != nil && r.ToolChoice.Type != "none"; m.options.Effort != "" && !forced {
		r.Thinking, r.OutputConfig = &kind{"adaptive"}, &outputConfig{m.options.Effort}
	}
	return r
}

// choice returns the tool choice in Anthropic's form; nil: the model's.
func choice(name string) *toolChoice {
	switch name {
	case "", "auto":
		return nil
	case "none":
		return &toolChoice{Type: "none"}
	case "required":
		return &toolChoice{Type: "any"}
	}
	return &toolChoice{Type: "tool", Name: name}
}

// conversion converts a prompt to Anthropic's form: system messages are separate, the others alternate between user and
// assistant, no text is empty, and each tool call is directly followed by its result.
type conversion struct {
	system   []*content
	messages []message
	paired   map[string]bool // ids of tool calls that have their result
	source   string          // whose thoughts are sent back
	bare     bool            // nothing is marked
}

// convert converts a prompt, and marks its stable prefix and its last message for caching.
func (m *model) convert(req core.ModelRequest, bare bool) *conversion {
	c := &conversion{paired: map[string]bool{}, source: m.source(), bare: bare}
	if len(req.Tools) > 0 {
		c.pair(req.Messages)
	}
	for i, one := range req.Messages {
		c.add(one)
		if i == req.CachePrefix-1 {
			c.mark()
		}
	}
	if len(c.messages) == 0 {
		c.append(core.RoleUser, words(nothing))
	}
	c.mark()
	return c
}

// nothing is the text of a missing user message that the API requires.
const nothing = "[…]"

// pair finds the calls that are directly followed by their result.
func (c *conversion) pair(messages []core.ModelMessage) {
	var wanted map[string]bool
	for _, m := range messages {
		switch m.Role {
		case core.RoleAssistant:
			wanted = map[string]bool{}
			for _, call := range m.ToolCalls {
				wanted[call.ID] = true
			}
		case core.RoleTool:
			c.paired[m.ToolCallID] = wanted[m.ToolCallID]
		default:
			wanted = nil
		}
	}
}

func (c *conversion) add(m core.ModelMessage) {
	switch m.Role {
	case core.RoleSystem:
		if strings.TrimSpace(m.Content) != "" {
			c.system = append(c.system, words(m.Content))
		}
	case core.RoleAssistant:
		c.assistant(m)
	case core.RoleTool:
		c.append(core.RoleUser, c.result(m))
	default:
		c.text(core.RoleUser, m.Content)
		for _, image := range m.Images {
			data := base64.StdEncoding.EncodeToString(image.Data)
			c.append(core.RoleUser, &content{Type: "image", Source: &source{"base64", image.MIME, data}})
		}
	}
}

func (c *conversion) assistant(m core.ModelMessage) {
	if len(c.messages) == 0 {
		c.append(core.RoleUser, words(nothing))
	}
	for _, call := range m.ToolCalls {
		for _, raw := range thoughtsOf(call, c.source) {
			if c.paired[call.ID] { // thoughts come first
				c.append(core.RoleAssistant, &content{raw: raw})
			}
		}
	}
	c.text(core.RoleAssistant, m.Content)
	for _, call := range m.ToolCalls {
		c.append(core.RoleAssistant, c.use(call))
	}
}

// use returns a tool call, or a text about it if it has no result or no tools are offered: the API refuses such calls.
func (c *conversion) use(call core.ToolCall) *content {
	if !c.paired[call.ID] {
		return words(llm.Used(call))
	}
	input := json.RawMessage(call.Arguments)
	var object map[string]json.RawMessage
	if json.Unmarshal(input, &object) != nil || object == nil {
		input = json.RawMessage("{}")
	}
	return &content{Type: "tool_use", ID: toolID(call.ID), Name: call.Name, Input: input}
}

func (c *conversion) result(m core.ModelMessage) *content {
	text := m.Content
	if strings.TrimSpace(text) == "" {
		text = "(no output)"
	}
	if !c.paired[m.ToolCallID] {
		return words(llm.Returned(text))
	}
	return &content{Type: "tool_result", ToolUseID: toolID(m.ToolCallID), IsError: strings.HasPrefix(text, "Error: "),
		Content: []*content{words(text)}}
}

var notInID = regexp.MustCompile(`[^a-zA-Z0-9_-]`)

// toolID returns id in the characters that the API accepts; other servers use more.
func toolID(id string) string { return notInID.ReplaceAllString(id, "_") }

func (c *conversion) text(role core.Role, text string) {
	if strings.TrimSpace(text) != "" {
		c.append(role, words(text))
	}
}

// append adds a block to the last message, or to a new one if that has the other role.
func (c *conversion) append(role core.Role, block *content) {
	last := len(c.messages) - 1
	if last < 0 || c.messages[last].Role != role {
		c.messages = append(c.messages, message{Role: role})
		last++
	}
	c.messages[last].Content = append(c.messages[last].Content, block)
}

// mark puts a cache mark on the last block, or on the system text if there is none.
func (c *conversion) mark() {
	blocks := c.system
	if len(c.messages) > 0 {
		blocks = c.messages[len(c.messages)-1].Content
	}
	if n := len(blocks); n > 0 && !c.bare {
		blocks[n-1].CacheControl = &kind{"ephemeral"}
	}
}
