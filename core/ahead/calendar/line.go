package calendar

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"github.com/everthread/everthread/core/ahead/source"
)

// line is a content line of a calendar: NAME;PARAMETER=value:value.
type line struct {
	name   string
	params map[string]string // by names in capitals; nil: none
	value  string
}

// mostLine bounds a line. The rest of a longer one, such as that of a picture, is left out.
const mostLine = 16 << 10

// lines reads content lines: unfolded, and of any of the usual encodings and ends of line.
type lines struct {
	in   *bufio.Reader
	next []byte // the physical line after the one that is returned
	end  error
}

func newLines(r io.Reader) *lines {
	in := bufio.NewReaderSize(r, 64<<10)
	if mark, _ := in.Peek(2); bytes.Equal(mark, []byte{0xff, 0xfe}) || bytes.Equal(mark, []byte{0xfe, 0xff}) {
		in = bufio.NewReader(transform.NewReader(in, unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewDecoder()))
	}
	if mark, _ := in.Peek(3); string(mark) == "\ufeff" {
		_, _ = in.Discard(3) // it is there
	}
	l := &lines{in: in}
	l.next, l.end = l.physical()
	return l
}

// physical reads one line as it stands in the file, without its end.
func (l *lines) physical() ([]byte, error) {
	var out []byte
	for {
		part, err := l.in.ReadSlice('\n')
		out = append(out, part[:min(len(part), mostLine-min(len(out), mostLine))]...)
		switch {
		case err == nil || errors.Is(err, io.EOF) && len(out) > 0:
			return bytes.TrimRight(out, "\r\n"), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

// read returns the next content line that is not empty. io.EOF: there is none.
func (l *lines) read() (line, error) {
	for l.end == nil {
		whole := l.next
		for {
			l.next, l.end = l.physical()
			if l.end != nil || len(l.next) == 0 || l.next[0] != ' ' && l.next[0] != '\t' {
				break
			}
			whole = append(whole, l.next[1:min(len(l.next), max(mostLine-len(whole), 1))]...)
		}
		if text := strings.TrimSpace(decoded(whole)); text != "" {
			return parseLine(text), nil
		}
	}
	return line{}, l.end
}

// decoded returns a line as text. What is no UTF-8 is taken for Windows-1252, of which Latin-1 is a part.
func decoded(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	out, err := charmap.Windows1252.NewDecoder().Bytes(b)
	if err != nil {
		return strings.ToValidUTF8(string(b), "\ufffd")
	}
	return string(out)
}

// parseLine splits a line. One without a value is a name alone.
func parseLine(text string) line {
	var out line
	quoted := false
	begin, name := 0, ""
	add := func(part string) {
		if name == "" {
			name = strings.ToUpper(part)
			return
		}
		if out.params == nil {
			out.params = map[string]string{}
		}
		key, value, _ := strings.Cut(part, "=")
		out.params[strings.ToUpper(key)] = strings.Trim(value, `"`)
	}
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"':
			quoted = !quoted
		case c == ';' && !quoted:
			add(text[begin:i])
			begin = i + 1
		case c == ':' && !quoted:
			add(text[begin:i])
			out.name, out.value = name, text[i+1:]
			return out
		}
	}
	out.name = strings.ToUpper(text)
	return out
}

// unescaped returns a text value.
func unescaped(value string) string {
	return strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\N`, "\n", `\,`, ",", `\;`, ";").Replace(value)
}

// begins checks that a calendar begins: there is nothing but empty lines before.
func (l *lines) begins() error {
	first, err := l.read()
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return err
	case first.name != "BEGIN" || !strings.EqualFold(strings.TrimSpace(first.value), "VCALENDAR"):
		return source.NoCalendar
	}
	return nil
}
