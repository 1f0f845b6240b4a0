package speech

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/markup"
	"github.com/everthread/everthread/core/words"
)

// say returns the spoken replacements in a language.
var say = words.In[texts]("speech")

// texts replace content that cannot be spoken.
type texts struct {
	Code, Link string // replace a block of code or a table, and an address
	Rest       string // ends a shortened text
}

var (
	address = regexp.MustCompile(`(?i)\b(?:https?|ftp|mailto|tel|tg|xmpp|matrix):\S+`)
	letters = regexp.MustCompile(`[\p{L}\p{N}]`)
)

// Text returns an answer in Markdown as it is spoken: words without markup, one or more
// sentences a line, blocks of code and addresses mentioned but not read out. It has at most
// most characters, and says so if it was cut. It is empty if there is nothing to say.
func Text(markdown, language string, most int) string {
	w := say(language)
	t := markup.Parse(markup.StripRefs(markdown))
	var lines []string
	before, spoken := 0, false
	for _, s := range append(t.Spans, core.Span{Kind: core.SpanPre, Start: len(t.Text), End: len(t.Text)}) {
		if s.Kind != core.SpanPre || s.Start < before {
			continue
		}
		prose := sentences(t.Text[before:s.Start], w)
		spoken = spoken || len(prose) > 0
		lines = append(lines, prose...)
		if s.End > s.Start {
			lines = append(lines, w.Code)
		}
		before = s.End
	}
	if !spoken {
		return ""
	}
	return bounded(strings.Join(lines, "\n"), w.Rest, most)
}

// sentences returns the lines of a text that have words, each with a final mark.
func sentences(text string, w *texts) []string {
	var out []string
	for line := range strings.Lines(text) {
		line = address.ReplaceAllString(strings.TrimLeft(strings.TrimSpace(line), "•☐☑ "), w.Link)
		if !letters.MatchString(line) {
			continue
		}
		line = strings.Join(strings.Fields(line), " ")
		if last, _ := utf8.DecodeLastRuneInString(line); unicode.IsLetter(last) || unicode.IsDigit(last) {
			line += "."
		}
		out = append(out, line)
	}
	return out
}

// bounded returns at most most characters of a text, with rest at the end if it was cut.
func bounded(text, rest string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	room := most - utf8.RuneCountInString(rest) - 1
	if room <= 0 {
		return rest
	}
	return markup.Split(markup.Text{Text: text}, room, utf8.RuneCountInString)[0].Text + "\n" + rest
}
