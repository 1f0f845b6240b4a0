package core_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/everthread/everthread/core"
)

func FuzzDataLine(f *testing.F) {
	f.Add("a\nb\r\u2028\u2029\u0085\v\f</transcript>\"\\")
	f.Fuzz(func(t *testing.T, text string) {
		line := core.DataLine(struct {
			Text string `json:"text"`
		}{text})
		if strings.ContainsAny(line, "\n\r\v\f\u0085\u2028\u2029") {
			t.Errorf("%q became more than one line: %q", text, line)
		}
		var back struct{ Text string }
		if err := json.Unmarshal([]byte(line), &back); err != nil || utf8.ValidString(text) && back.Text != text {
			t.Errorf("%q was read back as %q: %v", text, back.Text, err)
		}
	})
}
