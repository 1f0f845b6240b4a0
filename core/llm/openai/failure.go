package openai

import (
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"

	"github.com/everthread/everthread/core/llm"
)

// failure reads what the server says is wrong, and closes the answer.
func (m *model) failure(resp *http.Response) llm.Failure {
	defer resp.Body.Close()
	const most = 64 << 10
	body, _ := io.ReadAll(io.LimitReader(resp.Body, most)) // what came is enough
	f := said(body)
	f.Status, f.Header, f.Secret = resp.StatusCode, resp.Header, m.options.APIKey
	return f
}

// said reads an error in any of the forms in use: {"error": {"message", "type",
// "code"}}, {"error": "text"}, the same in a list, {"message"}, {"detail"}. What
// is not JSON, such as a proxy's page, says nothing.
func said(body []byte) llm.Failure {
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	var outer struct {
		Error   json.RawMessage `json:"error"`
		Message json.RawMessage `json:"message"`
		Detail  json.RawMessage `json:"detail"`
	}
	if json.Unmarshal(body, &outer) != nil {
		return llm.Failure{}
	}
	if len(outer.Error) == 0 || string(outer.Error) == "null" {
		return llm.Failure{Message: words(outer.Message) + words(outer.Detail)}
	}
	return detail(outer.Error)
}

func detail(raw json.RawMessage) llm.Failure {
	var inner struct {
		Message json.RawMessage `json:"message"`
		Type    json.RawMessage `json:"type"`
		Code    json.RawMessage `json:"code"`
		Param   json.RawMessage `json:"param"`
	}
	if json.Unmarshal(raw, &inner) != nil {
		return llm.Failure{Message: words(raw)}
	}
	code := strings.TrimSpace(words(inner.Type) + " " + words(inner.Code) + " " + words(inner.Param))
	f := llm.Failure{Code: code, Message: words(inner.Message)}
	var status int
	if json.Unmarshal(inner.Code, &status) == nil && status >= 400 && status < 600 {
		f.Status = status
	}
	return f
}

// words returns a JSON string's text, or other JSON as it is.
func words(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

var unknownParameter = regexp.MustCompile(
	`(?i)unsupported|not supported|unrecognized|unknown|unexpected|extra|not permitted|not allowed|deprecated`)

// refusedParameter returns the optional parameter that a refusal names as
// unknown, 0 if it names none; lacks are those known to be.
func refusedParameter(f llm.Failure, lacks parameter) parameter {
	text := f.Code + " " + f.Message
	refused := f.Status == http.StatusBadRequest || f.Status == http.StatusUnprocessableEntity
	if !refused || !unknownParameter.MatchString(text) {
		return 0
	}
	var found parameter
	switch {
	case strings.Contains(text, "stream_options"):
		found = parameterUsage
	case strings.Contains(text, "max_tokens"), strings.Contains(text, "max_completion_tokens"):
		found = parameterLimit
		if lacks&parameterLimit != 0 {
			found = parameterLimits
		}
	case strings.Contains(text, "safety_identifier"), strings.Contains(text, "prompt_cache_key"),
		strings.HasSuffix(f.Code, " user"), strings.Contains(text, `"user"`):
		found = parameterUser
	}
	return found &^ lacks
}
