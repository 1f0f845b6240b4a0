package openai

import (
	"net/http"
	"regexp"
	"strings"

	"github.com/everthread/everthread/core/llm"
)

var unknownParameter = regexp.MustCompile(
	`(?i)unsupported|not supported|unrecognized|unknown|unexpected|extra|not permitted|not allowed|deprecated`)

// refusedParameter returns the optional parameter that a refusal names as
// unknown, 0 if it names none. lacks are those already known.
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
