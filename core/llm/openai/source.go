package openai

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/everthread/everthread/core/llm"
	"github.com/everthread/everthread/core/text"
)

// source is the address of what an answer rests on: text, or an object with it.
type source string

// UnmarshalJSON reads either form, and never fails.
func (s *source) UnmarshalJSON(b []byte) error {
	var o struct{ URL string }
	if json.Unmarshal(b, (*string)(s)) != nil && llm.Decode(b, &o) == nil {
		*s = source(o.URL)
	}
	return nil
}

// mostSources bounds the addresses of an answer.
const mostSources = 50

// cite adds addresses in their order, each once; servers repeat them with every piece.
func (a *assembly) cite(sources ...source) {
	for _, s := range sources {
		one := strings.Join(strings.Fields(string(s)), "")
		if one != "" && len(a.sources) < mostSources && !slices.Contains(a.sources, one) {
			a.sources = append(a.sources, one)
		}
	}
}

var referred = text.Pattern(`\[(\d{1,2})\]`)

// references returns the addresses below an answer, with the numbers under which it refers to them; if it does not, all
// that it does not name.
func (a *assembly) references() string {
	said := a.said.String()
	var numbers []string
	for _, m := range referred().FindAllStringSubmatch(said, -1) {
		numbers = append(numbers, m[1])
	}
	var out strings.Builder
	for i, address := range a.sources {
		number := fmt.Sprint(i + 1)
		if strings.Contains(said, address) || len(numbers) > 0 && !slices.Contains(numbers, number) {
			continue
		}
		if out.Len() == 0 {
			out.WriteByte('\n')
		}
		fmt.Fprintf(&out, "\n[%s] %s", number, address)
	}
	return out.String()
}

// A character beyond 16 bits may be cut in the middle, into two escapes in two pieces. Its halves are kept in the form
// that UTF-8 would have for them.
var (
	lastHalf  = text.Pattern(`(?:^|[^\\])(?:\\\\)*(\\u[dD][89abAB][0-9a-fA-F]{2})"$`)
	firstHalf = text.Pattern(`^"(\\u[dD][c-fC-F][0-9a-fA-F]{2})`)
)

// unquoted returns a JSON string, with halves of characters at its ends.
func unquoted(b []byte) (s string) {
	head, tail := "", ""
	if m := firstHalf().FindSubmatch(b); m != nil {
		head, b = half(m[1]), slices.Concat([]byte{'"'}, b[len(m[0]):])
	}
	if m := lastHalf().FindSubmatch(b); m != nil {
		tail, b = half(m[1]), slices.Concat(b[:len(b)-len(m[1])-1], []byte{'"'})
	}
	_ = json.Unmarshal(b, &s) // it is a string
	return head + s + tail
}

// half returns the three bytes for an escaped half, such as \ud83d.
func half(escape []byte) string {
	n, _ := strconv.ParseUint(string(escape[2:]), 16, 16) // of the pattern
	return string([]byte{0xE0 | byte(n>>12), 0x80 | byte(n>>6)&0x3F, 0x80 | byte(n)&0x3F})
}

// halfAt returns the half with which s begins, 0: none.
func halfAt(s string) rune {
	if len(s) < 3 || s[0] != 0xED || s[1] < 0xA0 {
		return 0
	}
	return rune(s[0]&0x0F)<<12 | rune(s[1]&0x3F)<<6 | rune(s[2]&0x3F)
}

// joined joins halves. rest is a half at the end, which the next piece may complete.
func joined(s string) (whole, rest string) {
	var b strings.Builder
	for s != "" {
		high := halfAt(s)
		n := 1 + strings.IndexByte(s[1:], 0xED)
		switch {
		case high == 0 && n == 0:
			n = len(s)
			fallthrough
		case high == 0:
			b.WriteString(s[:n])
			s = s[n:]
			continue
		case len(s) == 3 && high < 0xDC00:
			return b.String(), s
		}
		r := utf16.DecodeRune(high, halfAt(s[3:]))
		b.WriteRune(r)
		if s = s[3:]; r != utf8.RuneError {
			s = s[3:]
		}
	}
	return b.String(), ""
}
