package main

import (
	"io"
	"sync"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/everthread/everthread/core/trust"
)

// screen is where commands write for people. Whatever they write, nothing that
// others wrote can move the cursor, hide or colour anything: lines and tabs pass,
// all else that a terminal obeys does not. What draws itself asks for drawn.
type screen struct {
	w io.Writer

	mu   sync.Mutex
	half []byte // of a character
}

// Write writes what can be seen of p.
func (s *screen) Write(p []byte) (int, error) {
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
	if _, err := io.WriteString(s.w, trust.Visible(string(text[:end]))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// drawn is what is behind a screen, for what moves the cursor or has colours itself.
// It cleans what others wrote.
func drawn(w io.Writer) io.Writer {
	if s, ok := w.(*screen); ok {
		return s.w
	}
	return w
}

// widthOf is how many columns a terminal has; 80 if it does not say.
func widthOf(w io.Writer) int {
	if f, ok := drawn(w).(interface{ Fd() uintptr }); ok {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 {
			return columns
		}
	}
	return 80
}

// isTerminal reports whether somebody sees at once what is written to w.
func isTerminal(w io.Writer) bool {
	f, ok := drawn(w).(interface{ Fd() uintptr })
	return ok && term.IsTerminal(int(f.Fd()))
}
