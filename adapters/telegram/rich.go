package telegram

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"
)

// richText returns the text of the rich message in an update, one line per block. A rich
// message has blocks instead of a text. To support future types of blocks, richText
// collects whatever is under a key named text.
func richText(update []byte) string {
	var u struct {
		Message *richUpdate `json:"message"`
		Edited  *richUpdate `json:"edited_message"`
	}
	if json.Unmarshal(update, &u) != nil {
		return ""
	}
	m := cmp.Or(u.Message, u.Edited)
	if m == nil {
		return ""
	}
	var lines []string
	for _, block := range m.Rich.Blocks {
		if line := strings.TrimSpace(shown(block)); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

type richUpdate struct {
	Rich struct {
		Blocks []json.RawMessage `json:"blocks"`
	} `json:"rich_message"`
}

// shown joins the strings of a JSON value that are under a key "text", or in a list under
// one, in order.
func shown(value json.RawMessage) string {
	var b strings.Builder
	collect(&b, json.NewDecoder(bytes.NewReader(value)), false)
	return b.String()
}

// collect reads one value. If isText, it collects strings in it.
func collect(b *strings.Builder, d *json.Decoder, isText bool) {
	token, err := d.Token()
	if err != nil {
		return
	}
	switch token {
	case json.Delim('['):
		for d.More() {
			collect(b, d, isText)
			if !isText && !strings.HasSuffix(b.String(), "\n") {
				b.WriteByte('\n')
			}
		}
		_, _ = d.Token()
	case json.Delim('{'):
		for d.More() {
			key, err := d.Token()
			if err != nil {
				return
			}
			collect(b, d, key == "text")
		}
		_, _ = d.Token()
	default:
		if s, ok := token.(string); ok && isText {
			b.WriteString(s)
		}
	}
}
