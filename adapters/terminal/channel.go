// Package terminal is the channel of the person at the keyboard: lines in, text out, streamed.
//
// Policy. A terminal stores nothing: event ids are random per process, a line is acknowledged when the next one is
// read, and printed text has arrived. Control characters in foreign text never reach the screen.
package terminal

import (
	"bufio"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/channel"
	"github.com/everthread/everthread/core/trust"
)

const Name = "terminal"

// Account is the account of all its addresses.
const Account = "local"

var (
	_ core.Channel   = (*Channel)(nil)
	_ core.Describer = (*Channel)(nil)
	_ core.Streamer  = (*Channel)(nil)
)

// Lines reads a person's lines. ReadLine returns io.EOF when the person leaves.
type Lines interface {
	ReadLine() (string, error)
}

// Options configure a Channel. All but Name, Style, Files and Answered are required.
type Options struct {
	Lines  Lines
	Out    io.Writer
	Person string    // the External of the person's address
	Name   string    // the person's name
	Style  bool      // Out supports ANSI styles
	Files  string    // folder of the files of answers, to show their paths; may be empty
	Rand   io.Reader // for event ids
	Now    func() time.Time
	// Answered runs after each line was stored, before the next one is read.
	Answered func(ctx context.Context) error
}

// Channel is one terminal. Its methods may be called concurrently.
type Channel struct {
	opts    Options
	process string // random prefix of the event ids
	lines   atomic.Int64
	screen  screen
}

func New(o Options) (*Channel, error) {
	id := make([]byte, 8)
	if _, err := io.ReadFull(o.Rand, id); err != nil {
		return nil, fmt.Errorf("terminal: generate an id: %w", err)
	}
	return &Channel{opts: o, process: hex.EncodeToString(id), screen: screen{out: o.Out, style: o.Style}}, nil
}

func (c *Channel) Name() string { return Name }

// Address returns the person's address.
func (c *Channel) Address() core.Address {
	return core.Address{Channel: Name, Account: Account, External: c.opts.Person}
}

// Run passes lines to r until the person leaves or ctx ends. A read that is waiting when
// ctx ends remains until the process exits.
func (c *Channel) Run(ctx context.Context, r core.Receiver) error {
	for {
		text, err := c.next(ctx)
		if errors.Is(err, io.EOF) || ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the terminal: %w", err)
		}
		if strings.TrimSpace(text) == "" {
			continue
		}
		if err := c.store(ctx, r, c.inbound(text)); err != nil {
			return nil // ctx ended
		}
		if c.opts.Answered == nil {
			continue
		}
		if err := c.opts.Answered(ctx); err != nil && ctx.Err() == nil {
			return err
		}
	}
}

func (c *Channel) next(ctx context.Context) (string, error) {
	type read struct {
		text string
		err  error
	}
	done := make(chan read, 1)
	go func() {
		text, err := c.opts.Lines.ReadLine()
		done <- read{text, err}
	}()
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case got := <-done:
		return got.text, got.err
	}
}

const storePause = 250 * time.Millisecond

// store passes a line to r until it is stored, and prints a failure once. It returns only the error of ctx.
func (c *Channel) store(ctx context.Context, r core.Receiver, in core.Inbound) error {
	for try := 0; ; try++ {
		err := r.Receive(ctx, in)
		if err == nil || ctx.Err() != nil {
			return ctx.Err()
		}
		if try == 0 {
			c.screen.block(trust.Visible(fmt.Sprintf("(not stored yet, it is tried again: %v)", err)))
		}
		_ = channel.Pause(ctx, storePause)
	}
}

func (c *Channel) inbound(text string) core.Inbound {
	now := c.opts.Now()
	id := fmt.Sprintf("%s-%d", c.process, c.lines.Add(1))
	return core.Inbound{Address: c.Address(), EventID: id, Kind: core.InMessage, NativeID: id,
		Text: strings.ToValidUTF8(text, "\uFFFD"), Name: c.opts.Name, SentAt: now, ReceivedAt: now, Raw: []byte(text)}
}

// Stop asks r to stop the answer that is being written.
func (c *Channel) Stop(ctx context.Context, r core.Receiver) error {
	in := c.inbound("/stop")
	in.Kind = core.InStop
	return r.Receive(ctx, in)
}

// Capabilities states that files are shown, by name and path.
func (c *Channel) Capabilities() core.Capabilities { return core.Capabilities{Files: true} }

// Send prints a part, or the rest of it if its beginning was streamed.
func (c *Channel) Send(_ context.Context, _ core.Address, p core.Part) (core.Receipt, error) {
	if p.Attachment != nil {
		p.Text, p.Spans = strings.TrimSpace(c.shown(p.Attachment)+"\n"+p.Text), nil
	}
	n, err := c.screen.final(p)
	if err != nil {
		return core.Receipt{}, &core.Unknown{Err: err}
	}
	return core.Receipt{NativeID: fmt.Sprintf("%s-out-%d", c.process, n)}, nil
}

func (c *Channel) shown(a *core.Attachment) string {
	name := strings.Join(strings.Fields(a.Kind+" "+a.Name), " ")
	if c.opts.Files == "" || a.Path == "" {
		return "[" + name + "]"
	}
	return "[" + name + ": " + filepath.Join(c.opts.Files, a.Path) + "]"
}

// Preview prints the new part of an answer that can no longer change.
func (c *Channel) Preview(_ context.Context, _ core.Address, key, text string) error {
	return c.screen.preview(key, text)
}

// PreviewEvery returns a short pause, as a terminal is fast.
func (c *Channel) PreviewEvery() time.Duration { return 40 * time.Millisecond }

// Plain returns the lines of a reader.
func Plain(r io.Reader) Lines { return &plainLines{r: bufio.NewReader(r)} }

type plainLines struct {
	mu sync.Mutex
	r  *bufio.Reader
}

// ReadLine returns the next line without its line end, which the last one may lack.
func (p *plainLines) ReadLine() (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	text, err := p.r.ReadString('\n')
	if text != "" && errors.Is(err, io.EOF) {
		err = nil
	}
	return strings.TrimRight(text, "\r\n"), err
}
