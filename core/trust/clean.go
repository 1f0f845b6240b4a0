package trust

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"go.uber.org/zap/buffer"
	"go.uber.org/zap/zapcore"

	"github.com/everthread/everthread/core/text"
)

// Obeyed reports whether a screen interprets a character instead of showing it: terminal controls (C0 except newline
// and tab, DEL, C1), changes of the direction of text, and line ends other than the newline.
func Obeyed(r rune) bool {
	return r != '\n' && r != '\t' && unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) ||
		r == '\u2028' || r == '\u2029'
}

// Visible returns a foreign text without the characters that a screen would interpret. It keeps line breaks.
func Visible(text string) string { return replaced(text, -1) }

// Line returns a foreign text, such as a name, as a part of a line.
func Line(text string) string { return strings.Join(strings.Fields(replaced(text, ' ')), " ") }

func replaced(text string, by rune) string {
	return strings.Map(func(r rune) rune {
		if Obeyed(r) {
			return by
		}
		return r
	}, text)
}

// Escaped returns JSON with the characters that a screen would interpret as escapes, so
// that a program reads the same value.
func Escaped(json []byte) []byte {
	if bytes.IndexFunc(json, Obeyed) < 0 {
		return json
	}
	var out []byte
	for _, r := range string(json) {
		if Obeyed(r) {
			out = fmt.Appendf(out, `\u%04x`, r)
			continue
		}
		out = append(out, string(r)...)
	}
	return out
}

// Screen is a writer for people that passes on what is Visible. Nothing that others wrote
// moves the cursor, hides or colours anything on it.
type Screen struct {
	W io.Writer // what draws itself writes here, and cleans what others wrote

	mu   sync.Mutex
	half []byte // of a character
}

// Write writes what is visible of p.
func (s *Screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := append(s.half, p...)
	end := len(text)
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if b := text[len(text)-n:]; utf8.RuneStart(b[0]) {
			if !utf8.FullRune(b) {
				end = len(text) - n
			}
			break
		}
	}
	s.half = append([]byte(nil), text[end:]...)
	if _, err := io.WriteString(s.W, Visible(string(text[:end]))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// LogEncoder encodes log lines that a terminal only shows, and that hold no line which
// others made up. Fields are JSON, in which what a terminal obeys is escaped. Texts are bounded, and those of errors,
// which servers may have written, pass Redact.
type LogEncoder struct {
	zapcore.Encoder
	Redact func(string) string // hides keys
}

// Clone returns a copy to add fields to.
func (l LogEncoder) Clone() zapcore.Encoder { return LogEncoder{l.Encoder.Clone(), l.Redact} }

// Bounds of a text in a log line, in bytes: as it is logged, and as it is looked through for keys.
const (
	longestLogged   = 2000
	longestRedacted = 16 << 10
)

// field returns a field as it is logged.
func (l LogEncoder) field(f zapcore.Field) zapcore.Field {
	switch err, ok := f.Interface.(error); {
	case f.Type == zapcore.ErrorType && ok:
		f = zapcore.Field{Key: f.Key, Type: zapcore.StringType, String: l.Redact(text.Within(err.Error(), longestRedacted))}
	case f.Type != zapcore.StringType:
		return f
	}
	f.String = text.Within(f.String, longestLogged)
	return f
}

// EncodeEntry encodes a line.
func (l LogEncoder) EncodeEntry(e zapcore.Entry, fields []zapcore.Field) (*buffer.Buffer, error) {
	e.Message = Line(e.Message)
	shown := make([]zapcore.Field, len(fields))
	for n, f := range fields {
		shown[n] = l.field(f)
	}
	line, err := l.Encoder.EncodeEntry(e, shown)
	if err != nil || bytes.IndexFunc(line.Bytes(), Obeyed) < 0 {
		return line, err
	}
	escaped := Escaped(line.Bytes())
	line.Reset()
	_, err = line.Write(escaped)
	return line, err
}
