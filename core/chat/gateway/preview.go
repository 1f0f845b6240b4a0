package gateway

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
)

// firstSign is the delay before a person sees that an answer is being written; a quick answer comes without.
const firstSign = 400 * time.Millisecond

// previewer shows a person that their answer is being written: the typing indicator and,
// where the channel can, the answer so far.
type previewer struct {
	g      *Gateway
	r      *running
	key    string
	stream core.Streamer
	typer  core.Typer
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup
	idle   bool // no delivery was pending when the preview began

	mu    sync.Mutex
	soFar string
	seen  string
}

// previewKey returns the key of a turn's preview, the same in every attempt.
func previewKey(t *core.Turn) string { return fmt.Sprintf("turn-%d-%d", t.User, t.ID) }

// startPreview returns a running previewer. The caller closes it.
func (g *Gateway) startPreview(ctx context.Context, r *running) *previewer {
	s := &previewer{g: g, r: r, key: previewKey(r.turn)}
	ch := g.Channels[r.turn.Address.Channel]
	s.stream, _ = ch.(core.Streamer)
	s.typer, _ = ch.(core.Typer)
	s.ctx, s.cancel = context.WithCancel(ctx)
	if r.turn.Task == 0 && (s.stream != nil || s.typer != nil) { // nobody waits for a task
		s.work.Go(s.run)
	}
	return s
}

// text takes the whole answer so far.
func (s *previewer) text(soFar string) {
	s.mu.Lock()
	s.soFar = soFar
	s.mu.Unlock()
}

func (s *previewer) close() {
	s.cancel()
	s.work.Wait()
}

func (s *previewer) run() {
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

// preview shows new text, and returns the delay until the next call.
func (s *previewer) preview() time.Duration {
	if s.stream == nil {
		return time.Second
	}
	s.mu.Lock()
	text := s.soFar
	s.mu.Unlock()
	if text == "" || text == s.seen || !s.clear() {
		return firstSign
	}
	if !s.r.show() {
		return firstSign
	}
	s.seen = text
	s.try("preview", s.stream.Preview(s.ctx, s.r.turn.Address, s.key, text))
	return s.stream.PreviewEvery()
}

// clear reports whether all earlier messages have been delivered: a preview that becomes
// the answer must not stand above them.
func (s *previewer) clear() bool {
	if s.idle {
		return true
	}
	busy, err := s.g.Store.Delivering(s.ctx, s.r.turn.User, s.r.turn.Address)
	s.try("read pending deliveries", err)
	s.idle = err == nil && !busy
	return s.idle
}

func (s *previewer) try(what string, err error) {
	if err != nil && s.ctx.Err() == nil {
		s.g.Log.Debug(what, zap.String("channel", s.r.turn.Address.Channel), zap.Error(err))
	}
}
