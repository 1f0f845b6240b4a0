package gateway

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
)

// firstSign is how long a person waits before they are shown that an answer is
// being written; a quick answer comes without.
const firstSign = 400 * time.Millisecond

// shower shows a person that their answer is being written: typing, and where
// the channel can, what there is of it so far.
type shower struct {
	g      *Gateway
	r      *running
	key    string
	stream core.Streamer
	typer  core.Typer
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup
	idle   bool // nothing waited to be delivered when the preview began

	mu    sync.Mutex
	soFar string
	seen  string
}

// previewKey names the preview of a turn, the same in every attempt.
func previewKey(t *core.Turn) string { return fmt.Sprintf("turn-%d-%d", t.User, t.ID) }

// show starts showing. close ends it.
func (g *Gateway) show(ctx context.Context, r *running) *shower {
	s := &shower{g: g, r: r, key: previewKey(r.turn)}
	ch := g.Channels[r.turn.Address.Channel]
	s.stream, _ = ch.(core.Streamer)
	s.typer, _ = ch.(core.Typer)
	s.ctx, s.cancel = context.WithCancel(ctx)
	if r.turn.Task == 0 && (s.stream != nil || s.typer != nil) { // nobody waits for a task
		s.work.Go(s.run)
	}
	return s
}

// text takes all of the answer so far.
func (s *shower) text(soFar string) {
	s.mu.Lock()
	s.soFar = soFar
	s.mu.Unlock()
}

func (s *shower) close() {
	s.cancel()
	s.work.Wait()
}

func (s *shower) run() {
	wait := firstSign
	typed := time.Time{}
	for {
		t := time.NewTimer(wait)
		select {
		case <-s.ctx.Done():
			t.Stop()
			return
		case <-t.C:
		}
		now := s.g.Now()
		if s.typer != nil && now.Sub(typed) >= s.typer.TypingTTL()*4/5 && !s.r.visible.Load() {
			typed = now
			s.try("typing", s.typer.Typing(s.ctx, s.r.turn.Address, s.r.turn.Event))
		}
		wait = s.preview()
	}
}

// preview shows what is new and returns when to look again.
func (s *shower) preview() time.Duration {
	if s.stream == nil {
		return time.Second
	}
	s.mu.Lock()
	text := s.soFar
	s.mu.Unlock()
	if text == "" || text == s.seen || !s.clear() {
		return firstSign
	}
	s.r.visible.Store(true)
	s.seen = text
	s.try("preview", s.stream.Preview(s.ctx, s.r.turn.Address, s.key, text))
	return s.stream.PreviewEvery()
}

// clear reports whether all that was said before has been delivered: a preview that
// becomes the answer must not stand above what is still to come.
func (s *shower) clear() bool {
	if s.idle {
		return true
	}
	busy, err := s.g.Store.Delivering(s.ctx, s.r.turn.User, s.r.turn.Address)
	s.try("look for deliveries", err)
	s.idle = err == nil && !busy
	return s.idle
}

func (s *shower) try(what string, err error) {
	if err != nil && s.ctx.Err() == nil {
		s.g.Log.Debug(what, zap.String("channel", s.r.turn.Address.Channel), zap.Error(err))
	}
}
