package openai

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/accounts/client"
	"github.com/everthread/everthread/core/text"
)

const (
	maxText         = 256 << 10 // bytes of a message's text
	maxInstructions = 64 << 10  // bytes of all system messages
	maxTools        = 128
	maxSchemas      = 128 << 10 // bytes of all tools
	maxThreadName   = 200       // bytes
)

// Models of this server. A plain thread is modelThread, a slash and its name.
const (
	modelThread = "everthread"
	// modelLong is modelThread with the strategy long.
	modelLong = "everthread-long"
	// modelTask answers only the request's own messages, without a thread.
	modelTask = "everthread-task"
)

// body holds the known fields of a request of /v1/chat/completions. Fields that the
// gateway decides itself are only checked for their type; unknown ones are ignored.
type body struct {
	Model         string            `json:"model"`
	Messages      []json.RawMessage `json:"messages"`
	Stream        bool              `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	N                   *int            `json:"n"`
	MaxTokens           *int            `json:"max_tokens"`
	MaxCompletionTokens *int            `json:"max_completion_tokens"`
	Tools               []tool          `json:"tools"`
	ToolChoice          json.RawMessage `json:"tool_choice"`
	Functions           json.RawMessage `json:"functions"`
	Task                any             `json:"task"`
	Metadata            map[string]any  `json:"metadata"`

	Temperature      *float64 `json:"temperature"`
	TopP             *float64 `json:"top_p"`
	PresencePenalty  *float64 `json:"presence_penalty"`
	FrequencyPenalty *float64 `json:"frequency_penalty"`
	Seed             *int64   `json:"seed"`
	User             *string  `json:"user"`
}

type tool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

type question struct {
	model   string
	thread  string // name of a plain thread; empty: the thread of the identity
	stream  bool
	usage   bool // a stream ends with the usage
	all     []message
	fresh   []message // messages after the assistant's last one, without instructions
	request core.Request
	direct  bool // answered by the model alone
}

// read parses a request. Its errors are *client.BadBody and *failure.
func read(data []byte) (question, error) {
	var b body
	if err := client.Decode(data, &b, "", false); err != nil {
		return question{}, err
	}
	q := question{stream: b.Stream, usage: b.StreamOptions.IncludeUsage}
	if err := b.check(); err != nil {
		return q, err
	}
	var err error
	if q.model, q.thread, err = readModel(b.Model); err != nil {
		return q, err
	}
	if q.all, err = readMessages(b.Messages); err != nil {
		return q, err
	}
	q.direct = b.Model == modelTask || b.task() || isTask(q.all)
	if q.direct {
		q.request.MaxTokens = b.maxTokens()
		return q, nil
	}
	if err := q.takeFresh(); err != nil {
		return q, err
	}
	q.request, err = b.request(q.all)
	return q, err
}

// check refuses requests that cannot be answered as intended.
func (b *body) check() error {
	switch {
	case b.N != nil && *b.N != 1:
		return invalid("n", "unsupported_value", "n must be 1: a conversation has one answer.")
	case b.MaxTokens != nil && *b.MaxTokens < 1:
		return invalid("max_tokens", "invalid_value", "max_tokens must be 1 or more.")
	case b.MaxCompletionTokens != nil && *b.MaxCompletionTokens < 1:
		return invalid("max_completion_tokens", "invalid_value", "max_completion_tokens must be 1 or more.")
	case !absent(b.Functions):
		return invalid("functions", "unsupported_parameter", "functions are not supported any more; send them as tools.")
	case len(b.Tools) > maxTools:
		return invalid("tools", "array_above_max_length", "There are %d tools; at most %d can be sent.",
			len(b.Tools), maxTools)
	case len(b.Messages) == 0:
		return invalid("messages", "empty_array", "messages is empty; send at least what the user says.")
	}
	return nil
}

func absent(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// readModel returns the thread that a model represents.
func readModel(name string) (model, thread string, err error) {
	if name == "" {
		return "", "", invalid("model", "missing_required_parameter", "model is missing; send \"model\": %q.", modelThread)
	}
	if name == modelThread || name == modelLong || name == modelTask {
		return name, "", nil
	}
	thread, ok := strings.CutPrefix(name, modelThread+"/")
	if !ok || strings.TrimSpace(thread) == "" || len(thread) > maxThreadName ||
		strings.ContainsFunc(thread, unicode.IsControl) {
		return "", "", noModel(name)
	}
	return name, strings.TrimSpace(thread), nil
}

func noModel(name string) error {
	if r := []rune(name); len(r) > 80 {
		name = string(r[:80]) + "…"
	}
	return &failure{status: 404, kind: invalidRequest, code: "model_not_found", param: "model",
		message: "There is no model " + name +
			". There is everthread, the user's conversation; everthread-long, the same with all of it in the prompt; everthread-task, which answers only the request's own messages; and everthread/NAME, a thread of its own of that name."}
}

func (q *question) takeFresh() error {
	last := -1
	for n, m := range q.all {
		if m.role == core.RoleAssistant {
			last = n
		}
	}
	if last == len(q.all)-1 {
		return invalid("messages", "invalid_value",
			"The last message is the assistant's, so there is nothing to answer. End with what the user says.")
	}
	for _, m := range q.all[last+1:] {
		if m.role != core.RoleSystem {
			q.fresh = append(q.fresh, m)
		}
	}
	if len(q.fresh) == 0 {
		return invalid("messages", "invalid_value",
			"There is no message of the user after the last one of the assistant, so there is nothing to answer.")
	}
	return nil
}

// request returns the client's instructions, tools and limits.
func (b *body) request(all []message) (core.Request, error) {
	out := core.Request{MaxTokens: b.maxTokens()}
	if b.Model == modelLong {
		out.Strategy = "long"
	}
	var said []string
	for _, m := range all {
		if m.role != core.RoleSystem {
			continue
		}
		text, err := m.text()
		if err != nil {
			return out, err
		}
		if text = strings.TrimSpace(text); text != "" {
			said = append(said, text)
		}
	}
	out.Instructions = strings.Join(said, "\n\n")
	if len(out.Instructions) > maxInstructions {
		return out, invalid("messages", "string_above_max_length", "The system messages have %d bytes; at most %d fit.",
			len(out.Instructions), maxInstructions)
	}
	var err error
	if out.Tools, err = b.tools(); err != nil {
		return out, err
	}
	out.Choice, err = b.choice(out.Tools)
	return out, err
}

// maxTokens returns the limit of the answer; 0: none.
func (b *body) maxTokens() int {
	if n := cmp.Or(b.MaxCompletionTokens, b.MaxTokens); n != nil {
		return *n
	}
	return 0
}

var toolName = text.Pattern(`^[a-zA-Z0-9_-]{1,64}$`)

func (b *body) tools() ([]core.ToolSpec, error) {
	var out []core.ToolSpec
	size := 0
	for _, t := range b.Tools {
		name := t.Function.Name
		known := slices.ContainsFunc(out, func(s core.ToolSpec) bool { return s.Name == name })
		schema := t.Function.Parameters
		if absent(schema) {
			schema = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		switch {
		case t.Type != "function":
			return nil, invalid("tools", "invalid_value", "A tool must be of the type function.")
		case !toolName().MatchString(name):
			return nil, invalid("tools", "invalid_value", "A tool's name has 1 to 64 letters, digits, - and _.")
		case known:
			return nil, invalid("tools", "invalid_value", "Two tools are named %s.", name)
		case !strings.HasPrefix(strings.TrimSpace(string(schema)), "{"):
			return nil, invalid("tools", "invalid_type", "The parameters of tool %s must be a JSON schema: an object.", name)
		}
		if size += len(name) + len(t.Function.Description) + len(schema); size > maxSchemas {
			return nil, invalid("tools", "string_above_max_length", "The tools take more than %d bytes together.", maxSchemas)
		}
		out = append(out, core.ToolSpec{Name: name, Description: t.Function.Description, Schema: schema})
	}
	return out, nil
}

func (b *body) choice(tools []core.ToolSpec) (string, error) {
	if absent(b.ToolChoice) {
		return "", nil
	}
	var word string
	var named struct {
		Type     string `json:"type"`
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	}
	isWord := json.Unmarshal(b.ToolChoice, &word) == nil
	if !isWord && (json.Unmarshal(b.ToolChoice, &named) != nil || named.Type != "function") {
		return "", invalid("tool_choice", "invalid_type", "tool_choice must be none, auto, required, or name a function.")
	}
	has := func(s core.ToolSpec) bool { return s.Name == named.Function.Name }
	switch {
	case !isWord && !slices.ContainsFunc(tools, has):
		return "", invalid("tool_choice", "invalid_value", "tool_choice names a function that is not among the tools.")
	case !isWord:
		return named.Function.Name, nil
	case !slices.Contains([]string{"none", "auto", "required"}, word):
		return "", invalid("tool_choice", "invalid_value", "tool_choice must be none, auto, required, or name a function.")
	case word == "required" && len(tools) == 0:
		return "", invalid("tool_choice", "invalid_value", "tool_choice is required, but there are no tools.")
	}
	return word, nil
}

// task reports whether a client declares a request as a task of its own.
func (b *body) task() bool {
	named := func(v any) bool { s, ok := v.(string); return ok && s != "" }
	return named(b.Task) || named(b.Metadata["task"])
}

// isTask recognises Open WebUI's own requests: titles, tags, follow-up questions, search queries, completions of a
// line. Each is one message of the user, made from a template with the conversation between tags. The template of a
// question with documents has <context> instead, and is conversation.
func isTask(all []message) bool {
	asked := slices.DeleteFunc(slices.Clone(all), func(m message) bool { return m.role == core.RoleSystem })
	if len(asked) != 1 || asked[0].role != core.RoleUser {
		return false
	}
	text, err := asked[0].text()
	if err != nil {
		return false
	}
	text = strings.TrimSpace(text)
	history := strings.Contains(text, "<chat_history>") && strings.Contains(text, "</chat_history>")
	return strings.HasPrefix(text, "### Task:") && history ||
		slices.ContainsFunc(taskStarts, func(start string) bool { return strings.HasPrefix(text, start) })
}

// taskStarts are the beginnings of the templates without such tags.
var taskStarts = []string{
	"Your task is to reflect the speaker's likely facial expression through a fitting emoji.",
	"You have been provided with a set of responses from various models to the latest user query:",
}

// forModel returns the request's own messages for the model.
func (q question) forModel(user core.UserID) (core.ModelRequest, error) {
	out := core.ModelRequest{User: user, MaxTokens: q.request.MaxTokens}
	for _, m := range q.all {
		parts, err := m.parts()
		if err != nil {
			return out, err
		}
		var said []string
		for _, p := range parts {
			if p.Type == "text" && p.Text != "" {
				said = append(said, p.Text)
			}
		}
		role := m.role
		if role == core.RoleTool {
			role = core.RoleUser // the tool call itself is not passed on
		}
		if len(said) > 0 {
			out.Messages = append(out.Messages, core.ModelMessage{Role: role, Content: strings.Join(said, "\n")})
		}
	}
	if len(out.Messages) == 0 {
		return out, invalid("messages", "invalid_value", "The messages say nothing.")
	}
	return out, nil
}
