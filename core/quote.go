package core

import (
	"bytes"
	"encoding/json"
	"strings"
)

// DataLine returns v as data for a prompt: one JSON value on one line. No text or name
// in it can end the line or imitate another. v must have a JSON form.
func DataLine(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v)
	// JSON escapes every other character that some system treats as a line break.
	return strings.ReplaceAll(strings.TrimSuffix(b.String(), "\n"), "\u0085", `\u0085`)
}
