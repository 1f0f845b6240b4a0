package terminal

import (
	"fmt"
	"io"
	"strings"
	"sync"

	"rsc.io/qr"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/text/markup"
	"github.com/everthread/everthread/core/trust"
)

// screen prints answers one below the other, at most one of them half-written.
type screen struct {
	out   io.Writer
	style bool

	mu      sync.Mutex
	key     string // of the half-written answer, or ""
	printed string // printed part of it
	midline bool   // the cursor is not at the beginning of a line
	sent    int
}

// preview prints the new part of the answer key.
func (s *screen) preview(key, markdown string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	sure := stable(s.render(markup.Parse(markdown)))
	if key != s.key {
		s.key, s.printed = key, ""
	}
	if !strings.HasPrefix(sure, s.printed) {
		if strings.HasPrefix(s.printed, sure) {
			return nil // nothing new is stable
		}
		s.printed = "" // the answer started again
		if err := s.fresh(); err != nil {
			return err
		}
	}
	err := s.write(sure[len(s.printed):])
	s.printed = sure
	return err
}

// final prints a whole answer, or the rest of the half-written one, and returns its number.
func (s *screen) final(p core.Part) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := s.render(markup.Text{Text: p.Text, Spans: p.Spans})
	rest, ours := strings.CutPrefix(text, s.printed)
	if s.key == "" || s.printed == "" || !ours {
		rest = text
		if err := s.fresh(); err != nil {
			return 0, err
		}
	}
	if s.interrupt(); ours {
		s.key, s.printed = "", ""
	}
	s.sent++
	return s.sent, s.write(rest + "\n")
}

// block prints a text of the program on lines of its own.
func (s *screen) block(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.interrupt()
	if s.fresh() == nil {
		_ = s.write(text + "\n") // if the terminal is gone, Run ends by itself
	}
}

// interrupt has the line that the half-written answer is in printed again, once it goes on below another text.
func (s *screen) interrupt() { s.printed = s.printed[:strings.LastIndexByte(s.printed, '\n')+1] }

// fresh moves to the beginning of a line.
func (s *screen) fresh() error {
	if !s.midline {
		return nil
	}
	return s.write("\n")
}

func (s *screen) write(text string) error {
	if text == "" {
		return nil
	}
	s.midline = !strings.HasSuffix(text, "\n")
	_, err := io.WriteString(s.out, text)
	return err
}

// stable returns the beginning of a half-written answer that cannot change any more. It ends between words, before a
// table and before a character that may become markup, and never with a line break.
func stable(text string) string {
	start := strings.LastIndexByte(text, '\n') + 1
	block := strings.LastIndex(text, "\n\n") + 1
	if i := strings.Index("\n"+text[block:], "\n|"); i >= 0 {
		return strings.TrimRight(text[:block+i], "\n")
	}
	last := text[start:]
	plain := strings.ReplaceAll(last, "\x1b[", "\x1b\x00") // styles are not markup
	if i := strings.IndexAny(plain, "*_~`[]|<\\!#&+="); i >= 0 {
		last = last[:i]
	}
	return strings.TrimRight(text[:start+strings.LastIndexByte(last, ' ')+1], "\n")
}

// render returns a text with spans as ANSI styles, if the terminal supports them, and with the targets of links.
func (s *screen) render(t markup.Text) string {
	return markup.Renderer{
		Open: func(sp core.Span) string { return s.ansi(sp.Kind, 0) },
		Close: func(sp core.Span) string {
			if sp.Kind == core.SpanLink && !strings.Contains(sp.Value, t.Text[sp.Start:sp.End]) {
				return " <" + trust.Visible(sp.Value) + ">"
			}
			return s.ansi(sp.Kind, 1)
		},
		Escape: func(text string, _ core.Span) string { return trust.Visible(text) },
	}.Render(t)
}

// ansi returns the sequence that switches a style on (0) or off (1).
func (s *screen) ansi(k core.SpanKind, which int) string {
	if !s.style {
		return ""
	}
	return map[core.SpanKind][2]string{
		core.SpanBold: {"\x1b[1m", "\x1b[22m"}, core.SpanHeading: {"\x1b[1m", "\x1b[22m"},
		core.SpanItalic: {"\x1b[3m", "\x1b[23m"}, core.SpanStrike: {"\x1b[9m", "\x1b[29m"},
		core.SpanCode: {"\x1b[36m", "\x1b[39m"}, core.SpanPre: {"\x1b[36m", "\x1b[39m"},
	}[k][which]
}

// QR draws a text as a QR code, two of its rows a line, dark on light whatever the terminal's colours are.
func QR(text string) (string, error) {
	code, err := qr.Encode(text, qr.L)
	if err != nil {
		return "", fmt.Errorf("draw the link: %w", err)
	}
	const quiet = 2
	var b strings.Builder
	for y := -quiet; y < code.Size+quiet; y += 2 {
		b.WriteString("\x1b[30;107m")
		for x := -quiet; x < code.Size+quiet; x++ {
			b.WriteString(half(code.Black(x, y), code.Black(x, y+1)))
		}
		b.WriteString("\x1b[0m\n")
	}
	return b.String(), nil
}

// half returns a character whose halves are dark or not.
func half(upper, lower bool) string {
	switch {
	case upper && lower:
		return "█"
	case upper:
		return "▀"
	case lower:
		return "▄"
	}
	return " "
}
