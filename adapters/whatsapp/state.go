package whatsapp

import (
	"context"
	"sync"
	"time"
)

// state is what is known to be wrong with the account.
type state struct {
	mu      sync.Mutex
	seen    error // by looking after it
	refusal error // of messages
	later   bool  // the refusal came after a message had been taken
}

func (s *state) err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen != nil {
		return s.seen
	}
	return s.refusal
}

// looked keeps the outcome of looking after the account.
func (s *state) looked(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = err
}

// refused keeps why messages are refused; later: after they were taken.
func (s *state) refused(err error, later bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusal, s.later = err, later
}

// worked notes that a message was taken, or even delivered.
func (s *state) worked(delivered bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = nil
	if delivered || !s.later {
		s.refusal = nil
	}
}

// pairs counts how often the service said that somebody got too many messages.
type pairs struct {
	mu    sync.Mutex
	times map[string]strikes
}

type strikes struct {
	n    int
	last time.Time
}

// forgetPairs is how long a refusal counts.
const forgetPairs = 2 * time.Hour

// note counts a refusal and returns how long to wait: 4^X seconds, X from 0.
func (p *pairs) note(external string, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.times == nil {
		p.times = map[string]strikes{}
	}
	for k, s := range p.times {
		if now.Sub(s.last) > forgetPairs {
			delete(p.times, k)
		}
	}
	s := p.times[external]
	p.times[external] = strikes{n: min(s.n+1, maxPair), last: now}
	return time.Second << (2 * s.n)
}

func (p *pairs) reset(external string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.times, external)
}

// holdFor is how long a message waits for the one before it to be delivered.
const holdFor = 2 * time.Second

// line keeps the order of messages to one person, which the service does not: a message waits until a
// status tells that the one before it was delivered, at most holdFor. Statuses that another process
// takes are not seen; then the time alone keeps them apart.
type line struct {
	mu      sync.Mutex
	last    map[string]*flight   // by address
	flights map[string]*flight   // by wamid
	landed  map[string]time.Time // by wamid, of statuses that came before the answer
}

// flight is a message on its way.
type flight struct {
	external, wamid string
	at              time.Time
	landed          chan struct{}
}

// wait waits for the last message to external. It returns an error only if ctx
// ends.
func (l *line) wait(ctx context.Context, external string, now time.Time) error {
	l.mu.Lock()
	f := l.last[external]
	l.mu.Unlock()
	if f == nil {
		return nil
	}
	rest := f.at.Add(holdFor).Sub(now)
	if rest <= 0 {
		return nil
	}
	t := time.NewTimer(rest)
	defer t.Stop()
	select {
	case <-f.landed:
		return nil
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// sent notes that the service took a message.
func (l *line) sent(external, wamid string, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.prune(now)
	if _, ok := l.landed[wamid]; ok {
		delete(l.landed, wamid)
		return
	}
	f := &flight{external: external, wamid: wamid, at: now, landed: make(chan struct{})}
	l.last[external], l.flights[wamid] = f, f
}

// arrived notes that a message was delivered or never will be.
func (l *line) arrived(wamid string, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.prune(now)
	f := l.flights[wamid]
	if f == nil {
		l.landed[wamid] = now
		return
	}
	close(f.landed)
	l.drop(f)
}

func (l *line) prune(now time.Time) {
	if l.last == nil {
		l.last, l.flights, l.landed = map[string]*flight{}, map[string]*flight{}, map[string]time.Time{}
	}
	for _, f := range l.flights {
		if now.Sub(f.at) > holdFor {
			l.drop(f)
		}
	}
	for id, at := range l.landed {
		if now.Sub(at) > holdFor {
			delete(l.landed, id)
		}
	}
}

func (l *line) drop(f *flight) {
	delete(l.flights, f.wamid)
	if l.last[f.external] == f {
		delete(l.last, f.external)
	}
}
