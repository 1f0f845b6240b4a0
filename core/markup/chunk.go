package markup

import (
	"strings"
	"unicode/utf8"
)

// chunkSize bounds what the Markdown parser sees at once, in bytes: its cost is
// quadratic for hostile input, and so that of a document stays linear.
const chunkSize = 8 << 10

// chunk is a piece of a document that is parsed on its own.
type chunk struct {
	text string
	join string // stands between it and the chunk before
	code bool   // goes on with the fenced code of the chunk before
}

// chunks cuts md at blank lines, else at lines, else anywhere. A fence around a
// cut is closed and opened again.
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

// cut returns where to end a chunk in md, what to join it with the next one by,
// and the line that opened the fence around the cut, or nothing. opened is the
// fence line that the chunk itself goes on with, or nothing.
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

// cutLine returns where to cut a line that is too long, and what to join by.
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

// firstLine returns the first line of s, without its end and with its size.
func firstLine(s string) (string, int) {
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		return s[:i], i + 1
	}
	return s, len(s)
}

// fenceAfter returns the line that opened the fence in force after line, given
// the one in force before it.
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
// a fence, or nothing.
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
