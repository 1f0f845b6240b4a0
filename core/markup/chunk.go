package markup

import (
	"strings"
	"unicode/utf8"
)

// chunkSize bounds the input of one run of the Markdown parser, in bytes. Its time is
// quadratic for hostile input; with the bound that of a document is linear.
const chunkSize = 8 << 10

// chunk is a piece of a document that is parsed separately.
type chunk struct {
	text string
	join string // the text between it and the chunk before
	code bool   // it continues the fenced code of the chunk before
}

// chunks cuts md at blank lines, else at lines, else anywhere. A fence around a
// cut is closed and reopened.
func chunks(md string) []chunk {
	var out []chunk
	next := chunk{}
	for len(md) > chunkSize {
		n, join, fence := cut(next.text, md)
		c := next
		c.text += md[:n]
		md = md[n:]
		next = chunk{join: join}
		if fence != "" {
			c.text += "\n" + marker(fence)
			next = chunk{join: "\n", code: true, text: fence + "\n"}
		}
		out = append(out, c)
	}
	next.text += md
	return append(out, next)
}

// cut returns the end of a chunk in md, the text between it and the next one, and the
// line that opened a fence around the cut, if any. opened is the fence line that the
// chunk itself continues, if any.
func cut(opened, md string) (n int, join, reopen string) {
	inForce := strings.TrimSuffix(opened, "\n")
	var blank, plain, any int
	fence, anyFence := inForce, inForce
	for pos := 0; pos < chunkSize; {
		line, size := firstLine(md[pos:])
		if pos > 0 && pos+size > chunkSize {
			break
		}
		fence = fenceAfter(fence, line)
		pos += size
		if pos > chunkSize || pos >= len(md) {
			break
		}
		empty := strings.TrimSpace(line) == ""
		if fence == "" || !empty { // an empty line at the end of code would be lost
			any, anyFence = pos, fence
		}
		if fence == "" && md[pos] != ' ' && md[pos] != '\t' {
			plain = pos
			if empty {
				blank = pos
			}
		}
	}
	switch {
	case blank > chunkSize/4:
		return blank, "\n\n", ""
	case plain > chunkSize/4:
		return plain, "\n", ""
	case any > 0:
		return any, "\n", anyFence
	}
	n, join = cutLine(md)
	return n, join, inForce
}

// cutLine returns the place to cut a line that is too long, and the text between the
// pieces.
func cutLine(md string) (int, string) {
	if i := strings.LastIndexByte(md[:chunkSize], ' '); i > chunkSize/2 {
		return i, " "
	}
	n := chunkSize
	for n > chunkSize-utf8.UTFMax && !utf8.RuneStart(md[n]) {
		n--
	}
	return n, ""
}

// firstLine returns the first line of s without its end, and its size with it.
func firstLine(s string) (string, int) {
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		return s[:i], i + 1
	}
	return s, len(s)
}

// fenceAfter returns the line that opened the current fence after line, given that
// before it.
func fenceAfter(fence, line string) string {
	m := marker(line)
	switch {
	case m == "":
		return fence
	case fence == "":
		return line
	}
	open := marker(fence)
	if m[0] == open[0] && len(m) >= len(open) && strings.TrimSpace(line) == m {
		return ""
	}
	return fence
}

// marker returns the run of backticks or tildes of a line that opens or closes
// a fence, else "".
func marker(line string) string {
	s := strings.TrimLeft(line, " ")
	if len(line)-len(s) > 3 || s == "" || s[0] != '`' && s[0] != '~' {
		return ""
	}
	rest := strings.TrimLeft(s, s[:1])
	m := s[:len(s)-len(rest)]
	if len(m) < 3 || m[0] == '`' && strings.Contains(rest, "`") {
		return ""
	}
	return m
}
