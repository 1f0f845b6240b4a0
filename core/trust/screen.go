package trust

import (
	"io"
	"sync"
	"unicode/utf8"
)

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
