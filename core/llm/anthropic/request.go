package anthropic

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/everthread/everthread/core"
)

// params returns a request in Anthropic's form.
func (m *model) params(req core.ModelRequest) sdk.MessageNewParams {
	c := convert(req)
	p := sdk.MessageNewParams{Model: m.options.Model, MaxTokens: int64(m.options.MaxTokens), System: c.system,
		Messages: c.messages}
	if req.MaxTokens > 0 {
		p.MaxTokens = int64(req.MaxTokens)
	}
	if req.User != 0 {
		p.Metadata.UserID = sdk.String("everthread-" + strconv.FormatInt(int64(req.User), 10))
	}
	for _, spec := range req.Tools {
		p.Tools = append(p.Tools, sdk.ToolUnionParam{OfTool: &sdk.ToolParam{
			Name: spec.Name, Description: sdk.String(spec.Description),
			InputSchema: param.Override[sdk.ToolInputSchemaParam](spec.Schema),
		}})
	}
	if len(req.Tools) > 0 {
		p.ToolChoice = choice(req.Choice)
	}
	return p
}

// choice returns the tool choice in Anthropic's form.
func choice(name string) (c sdk.ToolChoiceUnionParam) {
	switch name {
	case "", "auto":
	case "none":
		c.OfNone = &sdk.ToolChoiceNoneParam{}
	case "required":
		c.OfAny = &sdk.ToolChoiceAnyParam{}
	default:
		c.OfTool = &sdk.ToolChoiceToolParam{Name: name}
	}
	return c
}

// conversion converts a prompt to Anthropic's form: system messages are separate, the others alternate between user and
// assistant, no text is empty, and each tool call is directly followed by its result.
type conversion struct {
	system   []sdk.TextBlockParam
	messages []sdk.MessageParam
	paired   map[string]bool // ids of tool calls that have their result
}

// convert converts a prompt, and marks its stable prefix and its last message for caching.
func convert(req core.ModelRequest) *conversion {
	c := &conversion{paired: map[string]bool{}}
	if len(req.Tools) > 0 {
		c.pair(req.Messages)
	}
	for i, m := range req.Messages {
		c.add(m)
		if i == req.CachePrefix-1 {
			c.mark()
		}
	}
	if len(c.messages) == 0 {
		c.append(sdk.MessageParamRoleUser, sdk.NewTextBlock(nothing))
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
			c.system = append(c.system, sdk.TextBlockParam{Text: m.Content})
		}
	case core.RoleAssistant:
		c.assistant(m)
	case core.RoleTool:
		c.append(sdk.MessageParamRoleUser, c.result(m))
	default:
		c.text(sdk.MessageParamRoleUser, m.Content)
		for _, image := range m.Images {
			data := base64.StdEncoding.EncodeToString(image.Data)
			c.append(sdk.MessageParamRoleUser, sdk.NewImageBlockBase64(image.MIME, data))
		}
	}
}

func (c *conversion) assistant(m core.ModelMessage) {
	if len(c.messages) == 0 {
		c.append(sdk.MessageParamRoleUser, sdk.NewTextBlock(nothing))
	}
	c.text(sdk.MessageParamRoleAssistant, m.Content)
	for _, call := range m.ToolCalls {
		c.append(sdk.MessageParamRoleAssistant, c.use(call))
	}
}

// use returns a tool call, or a text about it if it has no result or no tools are offered: the API refuses such calls.
func (c *conversion) use(call core.ToolCall) sdk.ContentBlockParamUnion {
	if !c.paired[call.ID] {
		return sdk.NewTextBlock(fmt.Sprintf("[used the tool %s with %s]", call.Name, call.Arguments))
	}
	input := json.RawMessage(call.Arguments)
	var object map[string]json.RawMessage
	if json.Unmarshal(input, &object) != nil || object == nil {
		input = json.RawMessage("{}")
	}
	return sdk.NewToolUseBlock(toolID(call.ID), input, call.Name)
}

func (c *conversion) result(m core.ModelMessage) sdk.ContentBlockParamUnion {
	content := m.Content
	if strings.TrimSpace(content) == "" {
		content = "(no output)"
	}
	if !c.paired[m.ToolCallID] {
		return sdk.NewTextBlock("[result of a tool:\n" + content + "\n]")
	}
	return sdk.NewToolResultBlock(toolID(m.ToolCallID), content, strings.HasPrefix(content, "Error: "))
}

var notInID = regexp.MustCompile(`[^a-zA-Z0-9_-]`)

// toolID returns id in the characters that the API accepts; other servers use more.
func toolID(id string) string { return notInID.ReplaceAllString(id, "_") }

func (c *conversion) text(role sdk.MessageParamRole, text string) {
	if strings.TrimSpace(text) != "" {
		c.append(role, sdk.NewTextBlock(text))
	}
}

// append adds a block to the last message, or to a new one if that has the other role.
func (c *conversion) append(role sdk.MessageParamRole, block sdk.ContentBlockParamUnion) {
	last := len(c.messages) - 1
	if last < 0 || c.messages[last].Role != role {
		c.messages = append(c.messages, sdk.MessageParam{Role: role})
		last++
	}
	c.messages[last].Content = append(c.messages[last].Content, block)
}

// mark puts a cache mark on the last block, or on the system text if there is none.
func (c *conversion) mark() {
	if len(c.messages) == 0 {
		if n := len(c.system); n > 0 {
			c.system[n-1].CacheControl = sdk.NewCacheControlEphemeralParam()
		}
		return
	}
	blocks := c.messages[len(c.messages)-1].Content
	if control := blocks[len(blocks)-1].GetCacheControl(); control != nil {
		*control = sdk.NewCacheControlEphemeralParam()
	}
}
