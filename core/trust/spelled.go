package trust

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Spelled returns JSON for a person who decides about it. Escapes are decoded. Characters that are invisible, that a
// screen would interpret, or that stand between Latin letters though they are Greek or Cyrillic, are escapes. Keys keep
// their order, also those that appear twice. What is not JSON is only cleaned.
func Spelled(text string) string {
	var out bytes.Buffer
	if json.Indent(&out, []byte(text), "", "  ") != nil {
		return spelled(text)
	}
	literal := regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	return literal.ReplaceAllStringFunc(out.String(), func(quoted string) string {
		var s string
		if json.Unmarshal([]byte(quoted), &s) != nil || strings.ContainsRune(s, utf8.RuneError) {
			return spelled(quoted) // half a character stays the escape that it is
		}
		var plain strings.Builder
		e := json.NewEncoder(&plain)
		e.SetEscapeHTML(false)
		if e.Encode(s) != nil {
			return spelled(quoted)
		}
		return spelled(strings.TrimSuffix(plain.String(), "\n"))
	})
}

// spelled escapes the characters of a text that a person would not see, or take for others.
func spelled(text string) string {
	var out strings.Builder
	for len(text) > 0 {
		end := strings.IndexFunc(text, func(r rune) bool { return !unicode.IsLetter(r) })
		if end < 0 {
			end = len(text)
		}
		word := text[:end]
		latin := strings.ContainsFunc(word, func(r rune) bool { return unicode.Is(unicode.Latin, r) })
		for _, r := range word {
			if unseen(r) || latin && unicode.In(r, unicode.Cyrillic, unicode.Greek) {
				out.WriteString(escape(r))
				continue
			}
			out.WriteRune(r)
		}
		if text = text[end:]; text == "" {
			break
		}
		r, size := utf8.DecodeRuneInString(text)
		if text = text[size:]; Obeyed(r) || unseen(r) {
			out.WriteString(escape(r))
			continue
		}
		out.WriteRune(r)
	}
	return out.String()
}

// unseen reports whether a character shows nothing, or a blank that is no usual one.
func unseen(r rune) bool {
	const brailleBlank = '\u2800'
	return r == brailleBlank || unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point,
		unicode.Variation_Selector) || r != ' ' && unicode.Is(unicode.Zs, r)
}

// escape returns a character as JSON escapes it.
func escape(r rune) string {
	if r > 0xffff {
		r -= 0x10000
		return fmt.Sprintf(`\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
	}
	return fmt.Sprintf(`\u%04x`, r)
}
