package whatsapp

import (
	"context"
	"maps"
	"sync"
	"time"
)

// state holds the known failures of the account.
type state struct {
	mu      sync.Mutex
	seen    error // by the regular check
	refusal error // of messages
	later   bool  // the refusal came after a message had been accepted
}

func (s *state) err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen != nil {
		return s.seen
	}
	return s.refusal
}

// looked records the result of the regular check.
func (s *state) looked(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = err
}

// refused records a refusal of messages; later: after they had been accepted.
func (s *state) refused(err error, later bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusal, s.later = err, later
}

// worked records that a message was accepted, or delivered.
func (s *state) worked(delivered bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = nil
	if delivered || !s.later {
		s.refusal = nil
	}
}

// pairs counts the refusals of too many messages to one person.
type pairs struct {
	mu    sync.Mutex
	times map[string]strikes
}

type strikes struct {
	n    int
	last time.Time
}

// forgetPairs is the time for which a refusal counts.
const forgetPairs = 2 * time.Hour

// note counts a refusal and returns the pause: 4^n seconds after n earlier ones.
func (p *pairs) note(external string, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.times == nil {
		p.times = map[string]strikes{}
	}
	maps.DeleteFunc(p.times, func(_ string, s strikes) bool { return now.Sub(s.last) > forgetPairs })
	s := p.times[external]
	p.times[external] = strikes{n: min(s.n+1, maxPair), last: now}
	return time.Second << (2 * s.n)
}

func (p *pairs) reset(external string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.times, external)
}

// holdFor bounds the wait for the delivery of the previous message.
const holdFor = 2 * time.Second

// line keeps the order of messages to one person, which the service does not: a message
// waits until a status reports the previous one as delivered, at most holdFor. If another
// process receives the status, only the time separates the messages.
type line struct {
	mu      sync.Mutex
	last    map[string]*flight   // by address
	flights map[string]*flight   // by wamid
	landed  map[string]time.Time // by wamid, for statuses that arrived before the answer
}

type flight struct {
	external, wamid string
	at              time.Time
	landed          chan struct{}
}

// wait waits for the last message to external. It returns an error only if ctx ends.
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

// arrived records that a message was delivered or failed.
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
	maps.DeleteFunc(l.landed, func(_ string, at time.Time) bool { return now.Sub(at) > holdFor })
}

func (l *line) drop(f *flight) {
	delete(l.flights, f.wamid)
	if l.last[f.external] == f {
		delete(l.last, f.external)
	}
}
