package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"time"
)

// pipes connects to a client on standard input and output. A client whose input ends,
// such as a file, still gets its answers: the end of the input is passed on when all
// requests are answered.
type pipes struct {
	in   io.ReadCloser
	out  io.WriteCloser
	done <-chan struct{} // closed when the context ends

	mu       sync.Mutex
	open     int // requests without an answer
	read     []byte
	written  []byte
	answered chan struct{} // closed and replaced at each write
}

func newPipes(ctx context.Context, in io.ReadCloser, out io.WriteCloser) *pipes {
	return &pipes{in: in, out: out, done: ctx.Done(), answered: make(chan struct{})}
}

// lastAnswers bounds the wait for answers after the last request.
const lastAnswers = 30 * time.Second

func (p *pipes) Read(b []byte) (int, error) {
	n, err := p.in.Read(b)
	p.mu.Lock()
	p.read = each(append(p.read, b[:n]...), func(m message) {
		if m.Method != "" && m.ID != nil {
			p.open++
		}
	})
	p.mu.Unlock()
	if errors.Is(err, io.EOF) {
		p.wait()
	}
	return n, err
}

// wait returns when every request is answered, lastAnswers have passed or the context ends.
func (p *pipes) wait() {
	t := time.NewTimer(lastAnswers)
	defer t.Stop()
	for {
		p.mu.Lock()
		open, answered := p.open, p.answered
		p.mu.Unlock()
		if open <= 0 {
			return
		}
		select {
		case <-answered:
		case <-t.C:
			return
		case <-p.done:
			return
		}
	}
}

func (p *pipes) Write(b []byte) (int, error) {
	n, err := p.out.Write(b)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.written = each(append(p.written, b[:n]...), func(m message) {
		if m.Method == "" && m.ID != nil {
			p.open--
		}
	})
	close(p.answered)
	p.answered = make(chan struct{})
	return n, err
}

type message struct {
	ID     any    `json:"id"`
	Method string `json:"method"`
}

// maxLine bounds one message, in bytes; a longer one is not counted.
const maxLine = 4 << 20

// each calls f for the message in every complete line, and returns the rest. It ignores
// lines that are not messages.
func each(text []byte, f func(message)) []byte {
	for {
		line, rest, ok := bytes.Cut(text, []byte("\n"))
		if !ok {
			if len(text) > maxLine {
				return nil
			}
			return text
		}
		var m message
		if json.Unmarshal(line, &m) == nil {
			f(m)
		}
		text = rest
	}
}

// reader and writer adapt pipes to the transport.
type (
	reader struct{ *pipes }
	writer struct{ *pipes }
)

func (r reader) Close() error { return r.in.Close() }

func (w writer) Close() error { return w.out.Close() }
