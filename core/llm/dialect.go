package llm

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/text"
)

// dsml is what stands in the tags of DeepSeek's calls, which are those of others without it.
var dsml = text.Pattern(`(?i)<(/?)｜DSML｜`)

const gemmaQuote = `<|"|>`

var (
	gemmaCall = text.Pattern(`(?is)<\|tool_call>\s*call:([\w.:-]+)(\{.*?\})\s*(?:<tool_call\|>|$)`)
	bareKey   = text.Pattern(`([{,]\s*)([A-Za-z_]\w*)\s*:`)
)

// gemmaCalls takes calls in the form of Gemma out of a text. Their arguments are JSON with keys without quotation marks,
// and with a mark of its own around strings.
func gemmaCalls(s string) (rest string, calls []core.ToolCall) {
	rest = gemmaCall().ReplaceAllStringFunc(s, func(one string) string {
		m := gemmaCall().FindStringSubmatch(one)
		var b strings.Builder
		for i, part := range strings.Split(m[2], gemmaQuote) {
			if i%2 == 0 {
				b.WriteString(bareKey().ReplaceAllString(part, `$1"$2":`))
				continue
			}
			quoted, _ := json.Marshal(part) // text always has a JSON form
			b.Write(quoted)
		}
		c := core.ToolCall{Name: m[1], Arguments: b.String()}
		if !object(&c.Arguments) {
			return one
		}
		calls = append(calls, c)
		return ""
	})
	return rest, calls
}

// toolCode is the language of fences with calls in the form of Python.
const toolCode = "tool_code"

const pythonString = `"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'`

var (
	pythonCall = text.Pattern(`(?:print\()?(?:default_api\.|functions\.)?\b([A-Za-z_][\w.-]*)\(((?:` + pythonString +
		`|[^()"'])*)\)\)?`)
	pythonWord = text.Pattern(pythonString + `|\b(?:True|False|None)\b|[A-Za-z_]\w*\s*=`)
)

// beginsPython judges whether a text begins as a list of calls of tools does: [search(.
func beginsPython(s string, tools []core.ToolSpec) verdict {
	s, ok := strings.CutPrefix(strings.TrimSpace(s), "[")
	if s = strings.TrimSpace(s); !ok {
		return no
	}
	out := no
	for _, t := range tools {
		switch call := t.Name + "("; {
		case strings.HasPrefix(s, call):
			return yes
		case strings.HasPrefix(call, s):
			out = perhaps
		}
	}
	return out
}

// pythonCalls returns the calls that a text in the form of Python consists of, nil if it is anything else.
func pythonCalls(s string) []core.ToolCall {
	var calls []core.ToolCall
	for _, m := range pythonCall().FindAllStringSubmatch(s, -1) {
		arguments := pythonWord().ReplaceAllStringFunc(m[2], func(w string) string {
			switch name, named := strings.CutSuffix(w, "="); {
			case w[0] == '"':
				return w
			case w[0] == '\'':
				w = strings.NewReplacer(`\'`, "'", `\"`, `\"`, `"`, `\"`).Replace(w[1 : len(w)-1])
				return `"` + w + `"`
			case named:
				return `"` + strings.TrimSpace(name) + `":`
			}
			return map[string]string{"True": "true", "False": "false", "None": "null"}[w]
		})
		calls = append(calls, core.ToolCall{Name: m[1], Arguments: "{" + strings.TrimSpace(arguments) + "}"})
	}
	rest := pythonCall().ReplaceAllString(s, "")
	bad := func(c core.ToolCall) bool { return !object(&c.Arguments) }
	if strings.Trim(rest, "[],; \n\r\t") != "" || slices.ContainsFunc(calls, bad) {
		return nil
	}
	return calls
}
