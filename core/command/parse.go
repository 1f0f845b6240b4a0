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

// parse reads a text that begins with / or ! and a letter.
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

// clean is a text that every store takes.
func clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "")
}

// talk reports whether a line that names no command is conversation, given its
// nearest command and how far that is. A word near a command is a slip of the
// pen; else /word is somebody looking for a command, and what holds more than
// letters (a path) or begins with ! (an exclamation) is not.
func (l line) talk(nearest string, d int) bool {
	if l.sign == '!' {
		return d > 1 || len(nearest) < 4
	}
	return d > near(nearest) && strings.ContainsFunc(l.word, func(r rune) bool { return !unicode.IsLetter(r) })
}

// near is how many slips still mean a command: two, but only one in a short name.
func near(name string) int {
	if len(name) < 4 {
		return 1
	}
	return 2
}

// shown is the word as it can be quoted in code.
func (l line) shown() string { return text.Shorten(strings.ReplaceAll(l.word, "`", "'"), 32) }

// distance is how many letters must be put in, taken out, replaced or swapped
// with their neighbour to make b of a.
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

// title is free text as one line of at most 80 letters.
func title(s string) string { return text.Shorten(strings.Join(strings.Fields(s), " "), 80) }

// escaper takes the meaning from signs that are Markdown.
var escaper = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", `\<`, ">",
	`\>`, "~", `\~`, "#", `\#`, "|", `\|`, "$", `\$`)

// bold is free text in bold.
func bold(s string) string { return "**" + escaper.Replace(title(s)) + "**" }
