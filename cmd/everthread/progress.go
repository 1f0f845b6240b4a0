package main

import (
	"fmt"
	"time"

	"github.com/everthread/everthread/core/trust"
)

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
