package signal

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/channel"
)

// pace holds the waits of a stream.
type pace struct {
	connect time.Duration // until the daemon answers; older ones do so with their first sign of life
	silence time.Duration // without a sign of life, of which the daemon sends one every 15 seconds
	answer  time.Duration // at the end of Run, for a daemon that has not answered yet
	grace   time.Duration // at the end of Run, for what is on its way; and once more for storing it
	quiet   time.Duration // of the grace, after which nothing more is expected
	expiry  time.Duration // between looks for messages whose time is over
	after   func(d time.Duration, f func()) *time.Timer
}

func usual() pace {
	return pace{connect: 30 * time.Second, silence: 45 * time.Second, answer: 400 * time.Millisecond,
		grace: 2 * time.Second, quiet: 50 * time.Millisecond, expiry: expiryPause, after: time.AfterFunc}
}

const (
	maxQueue = 64       // events that are read and not yet passed on, and events passed on together
	maxEvent = 16 << 20 // bytes of one event
)

// Run passes the events of the account to r until ctx ends, and then returns nil. It connects again, with growing
// pauses, whenever the stream ends.
func (c *Channel) Run(ctx context.Context, r core.Receiver) error {
	defer c.opts.HTTP.CloseIdleConnections()
	var done sync.WaitGroup
	defer done.Wait()
	loaded := false
	for pause := (channel.Backoff{}); ctx.Err() == nil; {
		connected, err := false, error(nil)
		if !loaded {
			err = cmp.Or(c.versions.load(ctx, c.memory.first), c.expiry.load(ctx))
			if loaded = err == nil; loaded {
				done.Go(func() { c.expire(ctx, r) })
			}
		}
		if loaded {
			connected, err = c.listen(ctx, keeping{c, r})
		}
		if ctx.Err() != nil {
			break
		}
		if connected {
			pause = channel.Backoff{}
		}
		if c.receiving.Report(fmt.Errorf("receive from signal: %w", err)) {
			c.log.Warn("stream of signal-cli ended", zap.Error(err))
		}
		pause.Wait(ctx, 0)
	}
	return nil
}

// stream is an open connection with the daemon.
type stream struct {
	c      *Channel
	life   context.Context // of the connection, which outlives Run by the grace
	end    context.CancelFunc
	events chan []byte // closed at the end of the stream
	err    error       // why it ended; read after events is closed
	done   sync.WaitGroup
}

// listen opens a stream and passes its events to r until it ends or ctx does. It reports whether there was a stream.
func (c *Channel) listen(ctx context.Context, r core.Receiver) (connected bool, err error) {
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	s := &stream{c: c, life: life, end: end, events: make(chan []byte, maxQueue)}
	defer s.done.Wait()
	defer end()
	body, err := s.open(ctx)
	if err != nil {
		return false, err
	}
	defer body.Close()
	c.receiving.Report(nil)
	s.done.Go(func() { s.read(body) })
	for {
		select {
		case <-ctx.Done():
			c.finish(ctx, r, s, nil)
			return true, ctx.Err()
		case raw, ok := <-s.events:
			if !ok {
				return true, s.err
			}
			batch := s.more([][]byte{raw})
			if in, err := c.hand(ctx, r, batch); err != nil {
				c.finish(ctx, r, s, in)
				return true, err
			}
		}
	}
}

// open connects with the daemon. After ctx has ended it still waits for an answer, as the daemon may have handed out
// events already.
func (s *stream) open(ctx context.Context) (io.ReadCloser, error) {
	late := s.c.pace.after(s.c.pace.connect, s.end)
	defer late.Stop()
	defer context.AfterFunc(ctx, func() { late.Reset(s.c.pace.answer) })()
	address := s.c.api.root + "/api/v1/events?" + url.Values{"account": {s.c.opts.Account}}.Encode()
	req, err := http.NewRequestWithContext(s.life, http.MethodGet, address, nil)
	if err != nil {
		return nil, &netError{Op: "events", Err: channel.Clean(err, "")}
	}
	req.Header.Set("Accept", "text/event-stream")
	resp, err := s.c.opts.HTTP.Do(req)
	if err != nil {
		return nil, &netError{Op: "events", Err: fmt.Errorf(
			"signal-cli's daemon does not answer; start it, and check channels.signal.api_url: %w", channel.Clean(err, ""))}
	}
	if resp.StatusCode != http.StatusOK {
		_ = resp.Body.Close()
		return nil, &statusError{"events", resp.StatusCode}
	}
	return resp.Body, nil
}

// read queues every whole event of body until it ends, also after the end of the connection's life. A silent connection
// is given up; while the queue is full, silence is ours.
func (s *stream) read(body io.Reader) {
	defer close(s.events)
	silent := s.c.pace.after(s.c.pace.silence, s.end)
	defer silent.Stop()
	lines := bufio.NewReader(body)
	var event []byte
	for {
		silent.Reset(s.c.pace.silence)
		line, err := readLine(lines)
		silent.Stop()
		if errors.Is(err, errTooLong) {
			s.c.log.Error("event of signal-cli is too long and was dropped", zap.Int("limit", maxEvent))
			event = nil
			continue
		}
		if err != nil {
			s.err = fmt.Errorf("the stream ended: %w", channel.Clean(err, ""))
			return
		}
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			event = append(event, data...)
		}
		if len(line) > 0 || len(event) == 0 {
			continue
		}
		s.events <- event
		event = nil
	}
}

var errTooLong = errors.New("the line is too long")

// readLine returns the next line without its end. Of a longer line than maxEvent it reads all and returns errTooLong.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	long := false
	for {
		part, err := r.ReadSlice('\n')
		if long = long || len(line)+len(part) > maxEvent; !long {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err != nil:
			return nil, err
		case long:
			return nil, errTooLong
		default:
			return bytes.TrimRight(line, "\r\n"), nil
		}
	}
}

// more returns a batch with the further events that are queued.
func (s *stream) more(batch [][]byte) [][]byte {
	for len(batch) < maxQueue {
		select {
		case raw, ok := <-s.events:
			if !ok {
				return batch
			}
			batch = append(batch, raw)
		default:
			return batch
		}
	}
	return batch
}

// hand passes events to r until they are stored, and then notes them. If ctx ends first, it returns those that may not be
// stored.
func (c *Channel) hand(ctx context.Context, r core.Receiver, batch [][]byte) ([]core.Inbound, error) {
	in := c.inbound(ctx, batch)
	c.quotable(in) // before anything answers them
	err := channel.Hand(ctx, r, in, channel.Tries, func(err error) {
		c.receiving.Report(fmt.Errorf("messages from signal cannot be stored: %w", err))
		c.log.Error("events not stored", zap.Int("events", len(in)), zap.Error(err))
	})
	if err != nil {
		return in, err
	}
	c.receiving.Report(nil)
	c.note(in)
	return nil, nil
}

// inbound returns events in their normalised form.
func (c *Channel) inbound(ctx context.Context, batch [][]byte) []core.Inbound {
	var all []core.Inbound
	for _, raw := range batch {
		read := c.reader(ctx)
		in, e := read.normalise(raw)
		if len(in) == 0 {
			c.log.Debug("event ignored", zap.String("why", read.ignored))
		}
		if e != nil {
			c.learn(e, in)
		}
		all = append(all, in...)
	}
	return all
}

// reader returns a reader with what the channel remembers.
func (c *Channel) reader(ctx context.Context) *reader {
	return &reader{account: c.opts.Account, self: c.memory.me(), now: c.now(),
		name: func(person string) string { return c.name(ctx, person) },
		sent: func(timestamp int64) bool {
			_, ours := c.memory.ours.get(timestamp)
			return ours
		},
		first: func(m message) int64 {
			if first, ok := c.memory.first.get(m); ok {
				return first
			}
			return m.timestamp
		}}
}

// learn notes the names, the account's own ACI and the versions of messages that an event shows.
func (c *Channel) learn(e *event, in []core.Inbound) {
	if x := e.Exception; x != nil {
		what := "a message could not be read; its author can send it again"
		if x.Type == "UntrustedIdentityException" {
			what = "the safety number of a person changed, so their messages are held back; compare it with them and run " +
				"signal-cli trust, or use --trust-new-identities=always"
		}
		c.log.Warn(what, zap.String("person", e.Envelope.SourceUUID), zap.String("type", x.Type))
	}
	if e.Envelope.Sync != nil && e.Envelope.SourceUUID != "" {
		c.memory.be(e.Envelope.SourceUUID)
	}
	if e.Envelope.SourceName != "" {
		c.memory.names.put(e.Envelope.SourceUUID, e.Envelope.SourceName)
	}
	c.versions.add(in, c.memory.first)
	c.expiry.add(e, in, c.now())
}

// quotable remembers messages for quotes.
func (c *Channel) quotable(in []core.Inbound) {
	for _, m := range in {
		if m.Kind == core.InMessage {
			c.memory.texts.put(message{writer(&m), m.SentAt.UnixMilli()}, head(m.Text, mostQuoted))
		}
	}
}

// note remembers stored messages for read marks.
func (c *Channel) note(in []core.Inbound) {
	for _, m := range in {
		if m.Kind == core.InMessage && m.Group == nil && m.Address.External != c.memory.me() {
			c.memory.arrived(m.Address.External, m.SentAt.UnixMilli())
		}
	}
}

// head returns at most the first bytes of s, cut at a rune.
func head(s string, most int) string { return strings.ToValidUTF8(s[:min(len(s), most)], "") }

// finish stores, after ctx has ended, the events of in, those that are queued, and those that arrive until the stream was
// quiet for a moment or the grace is over. Then it ends the connection, and stores what was read of it until then. What
// cannot be stored is lost.
func (c *Channel) finish(ctx context.Context, r core.Receiver, s *stream, in []core.Inbound) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*c.pace.grace)
	defer cancel()
	defer time.AfterFunc(c.pace.grace, s.end).Stop()
	quiet := time.AfterFunc(c.pace.quiet, s.end)
	defer quiet.Stop()
	lost := 0
	var failed error
	for {
		if quiet.Stop(); len(in) > 0 && failed == nil {
			failed = r.Receive(ctx, in...)
		}
		if failed != nil {
			lost += len(in)
			s.end()
		}
		quiet.Reset(c.pace.quiet)
		raw, ok := <-s.events
		if !ok {
			break
		}
		in = c.inbound(ctx, s.more([][]byte{raw}))
	}
	if lost > 0 {
		c.log.Error("events lost at the end: the store does not work", zap.Int("events", lost), zap.Error(failed))
	}
}
