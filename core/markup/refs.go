package markup

import (
	"regexp"
	"strings"
)

var (
	heading = regexp.MustCompile(`^…?#{1,6} `)
	bullet  = regexp.MustCompile(`^(…?)(?:[-*]|[0-9]+\.) `)
)

// Excerpt returns a piece of a summary's Markdown as one line for people: without
// headings and references to messages, and with " · " between list items.
func Excerpt(md string) string {
	var b strings.Builder
	for line := range strings.Lines(StripRefs(md)) {
		line = strings.TrimSpace(line)
		if line == "" || heading.MatchString(line) {
			continue
		}
		entry := bullet.ReplaceAllString(line, "$1")
		switch {
		case b.Len() == 0:
		case entry != line:
			b.WriteString(" · ")
		default:
			b.WriteByte(' ')
		}
		b.WriteString(Plain(entry))
	}
	return b.String()
}

// StripRefs removes references to messages, such as [#123] and [#1, #2], and
// the blanks before them from Markdown. Links whose text looks like one stay.
func StripRefs(md string) string {
	if !strings.Contains(md, "[#") {
		return md
	}
	out := make([]byte, 0, len(md))
	for i := 0; i < len(md); {
		n := refLen(md[i:])
		if n == 0 {
			out = append(out, md[i])
			i++
			continue
		}
		for len(out) > 0 && (out[len(out)-1] == ' ' || out[len(out)-1] == '\t') {
			out = out[:len(out)-1]
		}
		i += n
	}
	return string(out)
}

// refLen returns the length of the reference at the beginning of s, or 0.
func refLen(s string) int {
	i := 0
	for sep := byte('['); ; sep = ',' {
		if i >= len(s) || s[i] != sep {
			return 0
		}
		i++
		for sep == ',' && i < len(s) && s[i] == ' ' {
			i++
		}
		if i >= len(s) || s[i] != '#' {
			return 0
		}
		digits := i + 1
		for i = digits; i < len(s) && s[i] >= '0' && s[i] <= '9'; i++ {
		}
		if i == digits {
			return 0
		}
		if i < len(s) && s[i] == ']' {
			break
		}
	}
	if i+1 < len(s) && s[i+1] == '(' {
		return 0
	}
	return i + 1
}
