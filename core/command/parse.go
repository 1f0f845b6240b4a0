package command

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/everthread/everthread/core/text"
)

// line is a text that has the form of a command.
type line struct {
	sign byte   // / or !
	word string // lower case, without @BotName
	arg  string // the rest, trimmed
}

// parse parses a text that begins with / or ! and a letter.
func parse(text string) (line, bool) {
	text = strings.TrimSpace(clean(text))
	if len(text) < 2 || text[0] != '/' && text[0] != '!' {
		return line{}, false
	}
	if first, _ := utf8.DecodeRuneInString(text[1:]); !unicode.IsLetter(first) {
		return line{}, false
	}
	l := line{sign: text[0], word: text[1:]}
	if n := strings.IndexFunc(l.word, unicode.IsSpace); n >= 0 {
		l.word, l.arg = l.word[:n], strings.TrimSpace(l.word[n:])
	}
	l.word, _, _ = strings.Cut(l.word, "@")
	l.word = strings.ToLower(l.word)
	return l, true
}

// clean returns a text that every store accepts.
func clean(s string) string { return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "") }

// talk reports whether a line that names no command is conversation, given its nearest
// command and the distance to it. A word near a command is a typing error. Otherwise /word
// is an attempt to find a command, while a word with more than letters (a path) or after !
// (an exclamation) is conversation.
func (l line) talk(nearest string, d int) bool {
	if l.sign == '!' {
		return d > 1 || len(nearest) < 4
	}
	return d > near(nearest) && strings.ContainsFunc(l.word, func(r rune) bool { return !unicode.IsLetter(r) })
}

// near returns the distance within which a word means a command: two, but one for a short
// name.
func near(name string) int {
	if len(name) < 4 {
		return 1
	}
	return 2
}

// shown returns the word for quoting in code style.
func (l line) shown() string { return text.Shorten(strings.ReplaceAll(l.word, "`", "'"), 32) }

// distance returns the number of insertions, deletions, substitutions and transpositions
// of neighbours that turn a into b.
func distance(a, b string) int {
	x, y := []rune(text.Shorten(a, 64)), []rune(text.Shorten(b, 64))
	rows := make([][]int, len(x)+1)
	for i := range rows {
		rows[i] = make([]int, len(y)+1)
		rows[i][0] = i
	}
	for j := range y {
		rows[0][j+1] = j + 1
	}
	for i := range x {
		for j := range y {
			d := rows[i][j]
			if x[i] != y[j] {
				d = 1 + min(d, rows[i][j+1], rows[i+1][j])
			}
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				d = min(d, rows[i-1][j-1]+1)
			}
			rows[i+1][j+1] = d
		}
	}
	return rows[len(x)][len(y)]
}

// title returns a text as one line of at most 80 characters.
func title(s string) string { return text.Shorten(text.OneLine(s), 80) }

// escaper escapes Markdown.
var escaper = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", `\<`, ">",
	`\>`, "~", `\~`, "#", `\#`, "|", `\|`, "$", `\$`)

// bold returns a text in bold.
func bold(s string) string { return "**" + escaper.Replace(title(s)) + "**" }
