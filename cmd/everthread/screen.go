package main

import (
	"fmt"
	"io"
	"time"

	"golang.org/x/term"

	"github.com/everthread/everthread/core/trust"
)

// drawn returns what is behind a screen, for what moves the cursor or has colours itself.
func drawn(w io.Writer) io.Writer {
	if s, ok := w.(*trust.Screen); ok {
		return s.W
	}
	return w
}

// widthOf returns the columns of a terminal; 80 if it does not say.
func widthOf(w io.Writer) int {
	if f, ok := drawn(w).(interface{ Fd() uintptr }); ok {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 {
			return columns
		}
	}
	return 80
}

// isTerminal reports whether somebody sees immediately what is written to w.
func isTerminal(w io.Writer) bool {
	f, ok := drawn(w).(interface{ Fd() uintptr })
	return ok && term.IsTerminal(int(f.Fd()))
}

// progress shows how far long work is: on a terminal in one line a step, else in a line now
// and then. With --json it shows nothing.
type progress struct {
	*console
	screen bool
	step   string
	at     time.Time // of the last line
	last   string    // not shown yet
	open   bool      // the cursor is behind a line
}

// progress begins work. end ends it.
func (c *console) progress() *progress {
	return &progress{console: c, screen: isTerminal(c.err), at: time.Now()}
}

// line shows how far a step is, unless it showed that a moment ago. The first line of a
// step that has a name is always shown.
func (p *progress) line(step, text string) {
	every := 10 * time.Second
	if p.screen {
		every = 200 * time.Millisecond
	}
	if p.json {
		return
	}
	if step != p.step {
		p.end()
	} else if time.Since(p.at) < every {
		p.last = text
		return
	}
	p.step = step
	p.write(text)
}

// mebibytes shows a number of bytes.
func (p *progress) mebibytes(format string) func(done int64) {
	return func(done int64) { p.line("", fmt.Sprintf(format, done>>20)) }
}

func (p *progress) write(text string) {
	p.at, p.last, p.open = time.Now(), "", p.screen
	if p.screen {
		fmt.Fprintf(drawn(p.err), "\r%-78s", trust.Line(text))
		return
	}
	fmt.Fprintln(p.err, text)
}

// end completes the line of the last step.
func (p *progress) end() {
	if p.screen && p.last != "" {
		p.write(p.last)
	}
	if p.open {
		fmt.Fprintln(p.err)
	}
	p.last, p.open = "", false
}
