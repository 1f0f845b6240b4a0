package core

import (
	"bytes"
	"encoding/json"
	"strings"
)

// DataLine returns v as data in a request to a model: one JSON value on one line.
// Nothing that somebody wrote, nor a name, can end the line or look like another.
// v has a JSON form.
func DataLine(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v)
	// JSON escapes every other sign that ends a line somewhere.
	return strings.ReplaceAll(strings.TrimSuffix(b.String(), "\n"), "\u0085", `\u0085`)
}
