package document

import (
	"strings"
	"unicode"
)

// ligatures are the texts of ligatures, also of old TeX fonts, which have them at control
// characters.
var ligatures = map[rune]string{0x10: "“", 0x11: "”", 0x15: "–", 0x16: "—", 0x1B: "ff", 0x1C: "fi", 0x1D: "fl",
	0x1E: "ffi", 0x1F: "ffl", 'ﬀ': "ff", 'ﬁ': "fi", 'ﬂ': "fl", 'ﬃ': "ffi", 'ﬄ': "ffl",
	0x02: ""} // a hyphen at the end of a line, between the halves of a word

// tidy removes invisible parts of a text: control characters and marks of direction,
// white space at the ends of lines, and repeated empty lines.
func tidy(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	var b strings.Builder
	b.Grow(len(text))
	empty := 0
	for line := range strings.Lines(strings.ReplaceAll(text, "\r\n", "\n")) {
		line = tidyLine(line)
		if line == "" {
			empty++
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
			if empty > 0 {
				b.WriteByte('\n')
			}
		}
		empty = 0
		b.WriteString(line)
	}
	return b.String()
}

func tidyLine(line string) string {
	var b strings.Builder
	for _, r := range line {
		out, known := ligatures[r]
		switch {
		case known:
			b.WriteString(out)
		case r == '\t':
			b.WriteByte('\t')
		case r == '\u00AD' || r == '\uFEFF' || unicode.Is(unicode.Cf, r) && r != '\u200D' && r != '\u200C':
		case unicode.IsControl(r) || unicode.IsSpace(r):
			b.WriteByte(' ')
		default:
			b.WriteRune(r)
		}
	}
	return strings.TrimRight(b.String(), " \t")
}

// row joins the cells of a row; empty ones at the end are left out. It changes cells.
func row(cells []string) string {
	for i, c := range cells {
		cells[i] = strings.Join(strings.Fields(strings.ReplaceAll(c, "|", "¦")), " ")
	}
	for len(cells) > 0 && cells[len(cells)-1] == "" {
		cells = cells[:len(cells)-1]
	}
	return strings.Join(cells, " | ")
}
