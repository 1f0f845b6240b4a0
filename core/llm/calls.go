package llm

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/text"
)

type verdict int

const (
	no verdict = iota
	perhaps
	yes
)

// callKeys are the first keys of a tool call in JSON.
var callKeys = [...]string{"name", "function", "tool", "tool_name", "tool_calls", "type", "id", "arguments",
	"parameters"}

// beginsCall judges whether a text begins as a tool call in JSON does, perhaps fenced or in a list.
func beginsCall(s string) verdict {
	s = strings.TrimSpace(s)
	if strings.HasPrefix("```", s) {
		return perhaps
	}
	if rest, fenced := strings.CutPrefix(s, "```"); fenced {
		info, body, found := strings.Cut(rest, "\n")
		infos := []string{"json", "tool_call", "tool_calls", "tool", toolCode, ""}
		info = strings.TrimSpace(info)
		if !slices.ContainsFunc(infos, func(i string) bool { return i == info || !found && strings.HasPrefix(i, info) }) {
			return no
		}
		if found && info == toolCode {
			return yes
		}
		s = strings.TrimSpace(body)
	}
	for _, c := range "[{\"" {
		if s == "" {
			return perhaps
		}
		rest, ok := strings.CutPrefix(s, string(c))
		if !ok && c != '[' {
			return no
		}
		s = rest
		if !ok {
			continue
		}
		if c != '"' {
			s = strings.TrimSpace(s)
		}
	}
	key, _, whole := strings.Cut(s, `"`)
	for _, k := range callKeys {
		switch {
		case whole && k == key:
			return yes
		case !whole && strings.HasPrefix(k, key):
			return perhaps
		}
	}
	return no
}

// dialect is a form of a tool call. Its groups are the name and the arguments.
type dialect struct {
	form *regexp.Regexp
	// xml: the arguments are tags, not JSON.
	xml bool
}

const toolName = `([\w.:-]+?)`

// dialects returns the forms that name the tool outside of JSON: channels, DeepSeek, Kimi, Mistral, GLM, Qwen, and tags
// of functions.
var dialects = sync.OnceValue(func() []dialect {
	json := func(form string) dialect { return dialect{regexp.MustCompile(`(?is)` + form), false} }
	xml := func(form string) dialect { return dialect{regexp.MustCompile(`(?is)` + form), true} }
	return []dialect{
		json(`^.*?to=(?:functions\.)?` + toolName + `(?:<\||\s).*?<\|message\|>(.*?)(?:<\|call\|>|<\|end\|>|$)`),
		json(`<\|tool_call_begin\|>\s*(?:functions\.)?` + toolName +
			`(?::\d+)?\s*<\|tool_call_argument_begin\|>(.*?)(?:<\|tool_call_end\|>|$)`),
		json("<｜tool▁call▁begin｜>(?:function<｜tool▁sep｜>)?" + toolName +
			"(?:<｜tool▁sep｜>|\\s)\\s*(?:```(?:json)?)?(.*?)(?:```\\s*)?(?:<｜tool▁call▁end｜>|$)"),
		json(`\[tool_calls\]\s*` + toolName + `(?:\[call_id\]\w+)?(?:\[args\]|\s*)(\{.*?\})\s*(?:\[/tool_calls\])?(?:$|(?:\[tool))`),
		xml(`<tool_call>\s*` + toolName + `\s*((?:<arg_key>.*?</arg_value>\s*)*)(?:</tool_call>|$)`),
		xml(`<function=` + toolName + `>\s*((?:<parameter=.*?</parameter>\s*)+)(?:</function>|$)`),
		xml(`<invoke\s+name="` + toolName + `">\s*((?:<parameter\s.*?</parameter>\s*)*)(?:</invoke>|$)`),
		json(`<function=` + toolName + `[=>]?\s*(\{.*?\})?\s*>?\s*(?:</function>|$)`),
	}
})

// wrapping is what stands around tool calls.
var wrapping = text.Pattern("(?i)</?tool_calls?>|</?function_calls?>|</?minimax:tool_call>|<\\|/?tool_calls?\\|>|" +
	"<\\|python_tag\\|>|<\\|tool_calls_section_(?:begin|end)\\|>|<｜tool▁calls▁(?:begin|end)｜>|<｜end▁of▁sentence｜>|" +
	"\\[/?tool_calls\\]|<\\|eo[mt](?:_id)?\\|>|<\\|im_end\\|>|```(?:json|tool_code|tool_calls?|tool)?|" +
	"</?seed:tool_call>|<\\|(?:start|end)_action\\|>|<turn\\|>|</s>")

var (
	parameters = text.Pattern(`(?is)<parameter(?:=|\s+name=")([\w.-]+)"?[^>]*>(.*?)</parameter>`)
	argKeys    = text.Pattern(`(?is)<arg_key>(.*?)</arg_key>\s*<arg_value>(.*?)</arg_value>`)
)

// readCalls returns the tool calls that a text consists of, nil if it is anything else, or more than that.
func readCalls(s string, tools []core.ToolSpec) []core.ToolCall {
	s, calls := gemmaCalls(dsml().ReplaceAllString(s, "<$1"))
	for _, d := range dialects() {
		ok := true
		var found []core.ToolCall
		rest := d.form.ReplaceAllStringFunc(s, func(part string) string {
			m := d.form.FindStringSubmatch(part)
			c, good := core.ToolCall{Name: m[1], Arguments: strings.TrimSpace(m[2])}, true
			if d.xml {
				c.Arguments = tagged(m[2], schemaOf(c.Name, tools))
			} else {
				good = object(&c.Arguments)
			}
			found, ok = append(found, c), ok && good
			return ""
		})
		if ok && len(found) > 0 {
			s, calls = rest, append(calls, found...)
		}
	}
	rest := strings.TrimSpace(wrapping().ReplaceAllString(s, "\n"))
	if rest == "" {
		return calls
	}
	if more := pythonCalls(rest); more != nil {
		return append(calls, more...)
	}
	loose := beginsCall(s) != yes || len(calls) > 0 // a mark says that it is a call
	decoder := json.NewDecoder(strings.NewReader(strings.ReplaceAll(rest, "};", "}\n")))
	for decoder.More() {
		var raw json.RawMessage
		if decoder.Decode(&raw) != nil {
			return nil
		}
		more := jsonCalls(raw, loose)
		if len(more) == 0 {
			return nil
		}
		calls = append(calls, more...)
	}
	return calls
}

// object makes arguments a JSON object, and reports whether they are one.
func object(arguments *string) bool {
	if *arguments == "" {
		*arguments = "{}"
	}
	var fields map[string]json.RawMessage
	return json.Unmarshal([]byte(*arguments), &fields) == nil && fields != nil
}

// jsonCall is a tool call in JSON, in any of the usual forms.
type jsonCall struct {
	Type, ID   any
	CallID     any `json:"tool_call_id"`
	Name, Tool string
	ToolName   string `json:"tool_name"`
	Function   json.RawMessage
	Arguments  json.RawMessage
	Parameters json.RawMessage
	Args       json.RawMessage
	Input      json.RawMessage
	ToolCalls  json.RawMessage `json:"tool_calls"`
}

// jsonCalls reads calls; loose ones need no arguments.
func jsonCalls(raw json.RawMessage, loose bool) []core.ToolCall {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil {
		var out []core.ToolCall
		for _, one := range list {
			more := jsonCalls(one, loose)
			if len(more) == 0 {
				return nil
			}
			out = append(out, more...)
		}
		return out
	}
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.DisallowUnknownFields()
	var c jsonCall
	if d.Decode(&c) != nil {
		return nil
	}
	if len(c.ToolCalls) > 0 {
		return jsonCalls(c.ToolCalls, loose)
	}
	if len(c.Function) > 0 && c.Function[0] == '{' {
		return jsonCalls(c.Function, loose)
	}
	_ = json.Unmarshal(c.Function, &c.Name) // its name is already there otherwise
	call := core.ToolCall{}
	for _, name := range []string{c.Name, c.Tool, c.ToolName} {
		if call.Name == "" {
			call.Name = strings.TrimPrefix(name, "functions.")
		}
	}
	given := false
	for _, a := range []json.RawMessage{c.Arguments, c.Parameters, c.Args, c.Input} {
		if len(a) > 0 && !given {
			given = true
			if json.Unmarshal(a, &call.Arguments) != nil {
				call.Arguments = string(a)
			}
		}
	}
	if call.Name == "" || !given && !loose || !object(&call.Arguments) {
		return nil
	}
	return []core.ToolCall{call}
}

// schemaOf returns the schema of a tool, nil if it is not offered.
func schemaOf(name string, tools []core.ToolSpec) json.RawMessage {
	for _, t := range tools {
		if t.Name == name {
			return t.Schema
		}
	}
	return nil
}

// tagged returns arguments that are written as tags as JSON. A value is text where the schema says so, and where it is
// no JSON.
func tagged(s string, schema json.RawMessage) string {
	var known struct {
		Properties map[string]struct{ Type any }
	}
	_ = json.Unmarshal(schema, &known) // without a schema, the values decide
	out := map[string]json.RawMessage{}
	for _, m := range append(parameters().FindAllStringSubmatch(s, -1), argKeys().FindAllStringSubmatch(s, -1)...) {
		key, value := strings.TrimSpace(m[1]), strings.TrimSpace(m[2])
		if raw := json.RawMessage(value); known.Properties[key].Type != "string" && json.Valid(raw) {
			out[key] = raw
			continue
		}
		out[key], _ = json.Marshal(value) // text always has a JSON form
	}
	b, _ := json.Marshal(out) // of valid JSON
	return string(b)
}
