package setup

import (
	"bufio"
	"context"
	"fmt"
	"io"
)

// LineReader reads the lines that answer questions.
type LineReader interface {
	// ReadLine shows a prompt and returns the next line; io.EOF: there is none. What
	// is typed to a secret is not shown.
	ReadLine(ctx context.Context, prompt string, secret bool) (string, error)
}

// Piped are the lines of something that is no terminal, or is not to be used as one.
type Piped struct {
	lines <-chan string // closed at their end
	out   io.Writer
	hide  func() (show func())
}

// NewPiped reads lines of r and shows prompts on out. hide, which may be nil, hides
// what is typed until the function that it returns is called. A goroutine waits for
// lines until r ends.
func NewPiped(r io.Reader, out io.Writer, hide func() (show func())) *Piped {
	lines := make(chan string)
	go func() {
		defer close(lines)
		s := bufio.NewScanner(r)
		for s.Scan() {
			lines <- s.Text()
		}
	}()
	return &Piped{lines: lines, out: out, hide: hide}
}

// ReadLine returns the next line.
func (p *Piped) ReadLine(ctx context.Context, prompt string, secret bool) (string, error) {
	fmt.Fprint(p.out, prompt)
	if secret && p.hide != nil {
		show := p.hide()
		defer func() { show(); fmt.Fprintln(p.out) }()
	}
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case line, ok := <-p.lines:
		if !ok {
			return "", io.EOF
		}
		return line, nil
	}
}
