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

// refs matches references to messages with the blanks before them, and the beginning of a
// link's target after them.
var refs = regexp.MustCompile(`[ \t]*\[#[0-9]+(?:, *#[0-9]+)*\]\(?`)

// StripRefs removes references to messages, such as [#123] and [#1, #2], and
// the blanks before them from Markdown. Links whose text looks like one stay.
func StripRefs(md string) string {
	if !strings.Contains(md, "[#") {
		return md
	}
	return refs.ReplaceAllStringFunc(md, func(ref string) string {
		if strings.HasSuffix(ref, "(") {
			return ref
		}
		return ""
	})
}
