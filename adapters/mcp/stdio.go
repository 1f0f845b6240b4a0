package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/accounts/client"
)

// Stdio serves one user, with the scopes read and memory, until in or ctx ends. Each line is a
// message. One that is none is answered with an error, and does not end the connection.
func (s *Server) Stdio(ctx context.Context, u core.User, in io.ReadCloser, out io.WriteCloser) error {
	who := client.Caller{User: u, Key: core.APIKey{User: u.ID, Scopes: []core.Capability{core.CanRead, core.CanMemory}}}
	p := newPipes(ctx, in, out)
	err := s.serverFor(who).Run(ctx, &sdk.IOTransport{Reader: reader{p}, Writer: writer{p}})
	if err != nil && ctx.Err() == nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("serve the client: %w", err)
	}
	return nil
}

// pipes connects to a client on standard input and output. A client whose input ends, such as a file, still gets its
// answers: the end of the input is passed on when all requests are answered.
type pipes struct {
	in   io.ReadCloser
	text *bufio.Reader // of in
	next []byte        // of a message, not read yet
	out  io.WriteCloser
	done <-chan struct{} // closed when the context ends

	writing sync.Mutex

	mu       sync.Mutex
	open     int // requests without an answer
	written  []byte
	answered chan struct{} // closed and replaced at each write
}

func newPipes(ctx context.Context, in io.ReadCloser, out io.WriteCloser) *pipes {
	return &pipes{in: in, text: bufio.NewReader(in), out: out, done: ctx.Done(), answered: make(chan struct{})}
}

const (
	// lastAnswers bounds the wait for answers after the last request.
	lastAnswers = 30 * time.Second
	// maxLine bounds one message, in bytes.
	maxLine = 4 << 20
)

// Codes of errors of JSON-RPC.
const (
	parseError     = -32700
	invalidRequest = -32600
)

// Read reads from the next message, which is one line.
func (p *pipes) Read(b []byte) (int, error) {
	for len(p.next) == 0 {
		line, err := p.line()
		if lost := p.take(line); lost != nil {
			return 0, lost
		}
		if err != nil && len(p.next) == 0 {
			if errors.Is(err, io.EOF) {
				p.wait()
			}
			return 0, err
		}
	}
	n := copy(b, p.next)
	p.next = p.next[n:]
	return n, nil
}

// line returns the next line, or at the end of the input the rest of it; only the first
// maxLine+1 bytes if it is longer.
func (p *pipes) line() (line []byte, err error) {
	for {
		part, err := p.text.ReadSlice('\n')
		line = append(line, part[:min(len(part), maxLine+1-len(line))]...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// take makes a line the next message, or answers it with an error if it is none.
func (p *pipes) take(line []byte) error {
	if len(line) > maxLine {
		return p.refuse(parseError, fmt.Sprintf("Parse error: the line has more than %d bytes", maxLine))
	}
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return nil
	}
	if !json.Valid(line) {
		return p.refuse(parseError, "Parse error: the line is not JSON")
	}
	m, err := jsonrpc.DecodeMessage(line)
	if err != nil { // a batch, too, which the protocol no longer has
		return p.refuse(invalidRequest, "Invalid Request: the line is not a message of JSON-RPC 2.0")
	}
	if r, ok := m.(*jsonrpc.Request); ok && r.IsCall() {
		p.mu.Lock()
		p.open++
		p.mu.Unlock()
	}
	p.next = append(line, '\n')
	return nil
}

// refuse answers a line that is no message.
func (p *pipes) refuse(code int, why string) error {
	line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": nil,
		"error": map[string]any{"code": code, "message": why}})
	if err != nil {
		return fmt.Errorf("write an error: %w", err)
	}
	_, err = p.Write(append(line, '\n'))
	return err
}

// wait returns when every request is answered, lastAnswers have passed or the context ends.
func (p *pipes) wait() {
	end := time.After(lastAnswers)
	for {
		p.mu.Lock()
		open, answered := p.open, p.answered
		p.mu.Unlock()
		if open <= 0 {
			return
		}
		select {
		case <-answered:
		case <-end:
			return
		case <-p.done:
			return
		}
	}
}

// Write writes whole lines.
func (p *pipes) Write(b []byte) (int, error) {
	p.writing.Lock()
	n, err := p.out.Write(b)
	p.writing.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.written = append(p.written, b[:n]...)
	for {
		line, rest, ok := bytes.Cut(p.written, []byte("\n"))
		if !ok {
			break
		}
		if answers(line) {
			p.open--
		}
		p.written = rest
	}
	close(p.answered)
	p.answered = make(chan struct{})
	return n, err
}

// answers reports whether a line is the answer to a request.
func answers(line []byte) bool {
	var m struct {
		ID     any    `json:"id"`
		Method string `json:"method"`
	}
	return json.Unmarshal(line, &m) == nil && m.ID != nil && m.Method == ""
}

// reader and writer adapt pipes to the transport.
type (
	reader struct{ *pipes }
	writer struct{ *pipes }
)

func (r reader) Close() error { return r.in.Close() }

func (w writer) Close() error { return w.out.Close() }
