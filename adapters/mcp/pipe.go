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

// pipes are the two ends of a client on standard input and output. A client that
// ends its requests, such as a file, still gets their answers: the end of the
// input is passed on when all are answered.
type pipes struct {
	in   io.ReadCloser
	out  io.WriteCloser
	done <-chan struct{} // nobody waits any more

	mu       sync.Mutex
	open     int // requests without an answer
	read     []byte
	written  []byte
	answered chan struct{} // closed and renewed with each answer
}

func newPipes(ctx context.Context, in io.ReadCloser, out io.WriteCloser) *pipes {
	return &pipes{in: in, out: out, done: ctx.Done(), answered: make(chan struct{})}
}

// lastAnswers is how long answers are waited for after the last request.
const lastAnswers = 30 * time.Second

// Read reads from the client.
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

// wait returns when every request is answered.
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

// Write writes to the client.
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

// message is what matters of a message of the protocol.
type message struct {
	ID     any    `json:"id"`
	Method string `json:"method"`
}

// maxLine bounds what is looked at of one message.
const maxLine = 4 << 20

// each calls f for every whole line, and returns the rest. What is no message is
// none.
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

// reader and writer are the ends as the transport wants them.
type (
	reader struct{ *pipes }
	writer struct{ *pipes }
)

// Close closes the input.
func (r reader) Close() error { return r.in.Close() }

// Close closes the output.
func (w writer) Close() error { return w.out.Close() }
