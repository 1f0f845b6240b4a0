package importer

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// document reads a JSON file piece by piece.
type document struct {
	*json.Decoder
	in    *bufio.Reader // of the decoder
	piece *bounded      // the bytes that are read for one piece
	name  string
	out   output
}

// document reads a JSON file of the archive piece by piece. If it is broken somewhere, the rest is left out.
func (a *Archive) document(name string, out output, read func(d *document) error) error {
	r, err := a.text(name)
	if err != nil {
		return err
	}
	defer r.Close()
	piece := &bounded{r, maxElement}
	in := skipMark(&quoter{in: bufio.NewReader(piece)})
	d := &document{json.NewDecoder(in), in, piece, name, out}
	return d.ended(read(d))
}

// quoter reads JSON, and puts values without quotes into them: Telegram Desktop 4.1 wrote paths of emoji so.
type quoter struct {
	in                              *bufio.Reader
	within, escaped, value, missing bool // a text, after \, before a value, a value without quotes
}

// Read reads the corrected JSON.
func (q *quoter) Read(p []byte) (n int, err error) {
	for n < len(p) {
		var b byte
		if b, err = q.in.ReadByte(); err != nil {
			break
		}
		switch {
		case q.missing && strings.IndexByte(",}]\r\n", b) >= 0, q.value && !q.missing && q.opens(b):
			q.missing = !q.missing
			q.value = false
			err = q.in.UnreadByte()
			b = '"'
		case q.missing && (b == '"' || b == '\\'):
			continue
		case q.missing:
		case q.within:
			q.within = q.escaped || b != '"'
			q.escaped = !q.escaped && b == '\\'
		default:
			q.within = b == '"'
			q.value = b == ':' || q.value && strings.IndexByte(" \t\r\n", b) >= 0
		}
		p[n] = b
		n++
	}
	if n > 0 {
		return n, nil // the error comes again
	}
	return 0, err
}

// opens reports whether b begins a value that JSON does not know.
func (q *quoter) opens(b byte) bool {
	rest, _ := q.in.Peek(4)
	word := string(b) + string(rest)
	for _, known := range []string{"true", "false", "null"} {
		if strings.HasPrefix(word, known) {
			return false
		}
	}
	return strings.IndexByte("\"{[-0123456789,}] \t\r\n", b) < 0
}

// next passes the next value of a document to f. A value of another type is left out.
func next[T any](d *document, f func(T) error) error {
	var v T
	if ok, err := d.value(&v); err != nil || !ok {
		return err
	}
	return f(v)
}

// skipMark skips the byte order mark at the beginning of a text.
func skipMark(r io.Reader) *bufio.Reader {
	b := bufio.NewReaderSize(r, 1<<16)
	if head, err := b.Peek(3); err == nil && bytes.Equal(head, []byte("\ufeff")) {
		_, _ = b.Discard(3) // they are buffered
	}
	return b
}

// first returns the first byte of the document after white space, without consuming it.
func (d *document) first() (byte, error) {
	for {
		b, err := d.in.ReadByte()
		if err != nil || !bytes.ContainsRune([]byte(" \t\r\n"), rune(b)) {
			return b, errors.Join(err, d.in.UnreadByte())
		}
	}
}

// enter reads the beginning of an object or array. Another value is skipped (false).
func (d *document) enter(delim json.Delim) (bool, error) {
	t, err := d.token()
	if err != nil {
		return false, err
	}
	got, ok := t.(json.Delim)
	if !ok || got == delim {
		return ok, nil
	}
	return false, d.leave()
}

func (d *document) token() (json.Token, error) {
	d.piece.left = maxElement
	return d.Token()
}

// leave skips the rest of the entered object or array.
func (d *document) leave() error {
	for depth := 1; depth > 0; {
		t, err := d.token()
		if err != nil {
			return err
		}
		switch t {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
	}
	return nil
}

// skip skips the next value.
func (d *document) skip() error {
	t, err := d.token()
	if t == json.Delim('{') || t == json.Delim('[') {
		return d.leave()
	}
	return err
}

// object calls f for each key of the next value, which f reads.
func (d *document) object(f func(key string) error) error {
	ok, err := d.enter('{')
	for err == nil && ok && d.More() {
		var t json.Token
		if t, err = d.token(); err == nil {
			key, _ := t.(string)
			err = f(key)
		}
	}
	if err == nil && ok {
		_, err = d.token()
	}
	return err
}

// array calls f for each element of the next value, which f reads.
func (d *document) array(f func() error) error {
	ok, err := d.enter('[')
	for err == nil && ok && d.More() {
		err = f()
	}
	if err == nil && ok {
		_, err = d.token()
	}
	return err
}

// value reads the next value into v. A value of another type is left out (false).
func (d *document) value(v any) (bool, error) {
	d.piece.left = maxElement
	before := d.InputOffset()
	err := d.Decode(v)
	if _, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		d.out.left(fmt.Sprintf("%s, byte %d", d.name, before), oddForm)
		return false, nil
	}
	return err == nil, err
}

// piece is a part of a document. If it has another type, odd is set, and the rest of the document is still read.
type piece[T any] struct {
	v   T
	odd bool
}

// UnmarshalJSON reads a piece.
func (p *piece[T]) UnmarshalJSON(b []byte) error {
	p.odd = json.Unmarshal(b, &p.v) != nil
	return nil
}

// ended reports a truncated or broken end of a document as left out: the part before it counts.
func (d *document) ended(err error) error {
	var syntax *json.SyntaxError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errLarge):
		d.out.left(fmt.Sprintf("%s, byte %d", d.name, d.InputOffset()),
			"what comes here is too large, and nothing after it was read")
	case errors.As(err, &syntax), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		d.out.left(fmt.Sprintf("%s, byte %d", d.name, d.InputOffset()),
			"the file is cut off or broken here, and nothing after it was read")
	default:
		return err
	}
	return nil
}

// eachLine calls f with each line of a text file, from 1. Lines that are too long are left out.
func eachLine(a *Archive, name string, out output, f func(n int, line []byte) error) error {
	r, err := a.text(name)
	if err != nil {
		return err
	}
	defer r.Close()
	in := skipMark(r)
	for n := 1; ; n++ {
		line, err := readLine(in)
		if errors.Is(err, bufio.ErrTooLong) {
			out.left(fmt.Sprintf("%s, line %d", name, n), "the line is too long")
			continue
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return out.skip(fmt.Sprintf("%s, line %d", name, n), "nothing after it can be read: "+err.Error())
		}
		if len(line) > 0 {
			if err := f(n, line); err != nil {
				return err
			}
		}
		if err != nil {
			return nil
		}
	}
}

// maxLine is the longest line that is read.
const maxLine = 16 << 20

// readLine reads a line without its end.
func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	long := false
	for {
		part, err := in.ReadSlice('\n')
		if long = long || len(line)+len(part) > maxLine; !long {
			line = append(line, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if long {
			return nil, bufio.ErrTooLong
		}
		return bytes.TrimRight(line, "\r\n"), err
	}
}

// eachJSON calls f with each line of a JSON Lines file, decoded.
func eachJSON[T any](a *Archive, name string, out output, f func(n int, v T) error) error {
	return eachLine(a, name, out, func(n int, line []byte) error {
		line = bytes.TrimPrefix(line, []byte("\ufeff")) // from concatenated files
		if len(bytes.TrimSpace(line)) == 0 {
			return nil
		}
		var v T
		if err := json.Unmarshal(line, &v); err != nil {
			return out.skip(fmt.Sprintf("%s, line %d", name, n), "it is no JSON of such a message")
		}
		return f(n, v)
	})
}

// moment is a time in the forms of archives: RFC 3339, or seconds or milliseconds since 1970 as a number or a string.
type moment struct{ time.Time }

// UnmarshalJSON reads a moment. Anything else is the zero time.
func (m *moment) UnmarshalJSON(b []byte) error {
	s := strings.Trim(string(b), `"`)
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999", "2006-01-02 15:04:05.999999Z07:00"} {
		if t, err := time.Parse(layout, s); err == nil {
			m.Time = t.UTC()
			return nil
		}
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || !(f > 0) || f > 1e14 {
		return nil
	}
	if f > 1e11 {
		f /= 1000
	}
	m.Time = time.UnixMilli(int64(f * 1000)).UTC()
	return nil
}

// integer is a whole number, as a number or a string. Anything else is 0.
type integer int

// UnmarshalJSON reads a number.
func (n *integer) UnmarshalJSON(b []byte) error {
	v, _ := strconv.Atoi(strings.Trim(string(b), `"`))
	*n = integer(v)
	return nil
}

// clip returns the beginning of a quoted text.
func clip(text string) string {
	const most = 500
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
