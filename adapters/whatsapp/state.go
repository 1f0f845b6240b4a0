package whatsapp

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/adapters/whatsapp/graph"
	"github.com/everthread/everthread/core/channel"
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

func newLine() line {
	return line{last: map[string]*flight{}, flights: map[string]*flight{}, landed: map[string]time.Time{}}
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
	select {
	case <-f.landed:
	case <-time.After(f.at.Add(holdFor).Sub(now)):
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
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

const watchEvery, firstRetry, lastRetry = 10 * time.Minute, time.Second, time.Minute

// watch checks the account every watchEvery until ctx ends, and sooner if the service does not answer.
func (c *Channel) watch(ctx context.Context) {
	retry := firstRetry
	for ctx.Err() == nil {
		err := c.look(ctx)
		if ctx.Err() != nil {
			return
		}
		c.noteLook(err)
		pause := watchEvery
		if _, ok := errors.AsType[*graph.NetError](err); ok {
			pause, retry = retry, min(2*retry, lastRetry)
		} else {
			retry = firstRetry
		}
		_ = channel.Pause(ctx, pause)
	}
}

// noteLook records the result of a check, and logs a change.
func (c *Channel) noteLook(err error) {
	before := c.state.err()
	c.state.looked(err)
	switch {
	case err != nil && (before == nil || before.Error() != err.Error()):
		c.log.Warn("whatsapp does not work", zap.Error(err))
	case err == nil && before != nil && c.state.err() == nil:
		c.log.Info("whatsapp works again")
	}
}

// look checks the token, the number and the subscription of its account.
func (c *Channel) look(ctx context.Context) error {
	if _, _, err := c.number(ctx); err != nil {
		return err
	}
	return c.subscribed(ctx)
}

type numberInfo struct {
	Number  string `json:"display_phone_number"`
	Name    string `json:"verified_name"`
	Quality string `json:"quality_rating"`
}

// number looks up the number, which also checks the token. It returns the service's
// clock as well, zero if unknown. Errors say what to do.
func (c *Channel) number(ctx context.Context) (numberInfo, time.Time, error) {
	var n numberInfo
	fields := url.Values{"fields": {"display_phone_number,verified_name,quality_rating"}}
	answer, err := c.get(ctx, "look up the number", c.opts.PhoneNumberID+"?"+fields.Encode(), &n)
	clock, _ := http.ParseTime(answer.Header.Get("Date"))
	if refused, ok := errors.AsType[*graph.Error](err); ok && classOf(refused) == trouble {
		return n, clock, troubled(refused)
	}
	if err != nil {
		return n, clock, fmt.Errorf("whatsapp: the service does not work as expected: %w", err)
	}
	return n, clock, nil
}

type tokenInfo struct {
	Data struct {
		Scopes  []string `json:"scopes"`
		Expires int64    `json:"expires_at"` // Unix seconds; 0: never
		Granted []struct {
			Scope   string   `json:"scope"`
			Targets []string `json:"target_ids"`
		} `json:"granular_scopes"`
	} `json:"data"`
}

func (c *Channel) token(ctx context.Context) (tokenInfo, error) {
	var t tokenInfo
	q := url.Values{"input_token": {string(c.opts.AccessToken)}}
	_, err := c.get(ctx, "look up the token", "debug_token?"+q.Encode(), &t)
	return t, err
}

func (c *Channel) get(ctx context.Context, op, path string, result any) (graph.Answer, error) {
	return c.api.Do(ctx, graph.Call{Op: op, Method: http.MethodGet, Path: path, Timeout: callTimeout}, result)
}

func (t tokenInfo) accounts() []string {
	for _, g := range t.Data.Granted {
		if g.Scope == "whatsapp_business_management" {
			return g.Targets
		}
	}
	return nil
}

// subscribed checks that the number's business account sends webhooks to an app. It
// returns nil if the service does not tell.
func (c *Channel) subscribed(ctx context.Context) error {
	t, err := c.token(ctx)
	if err != nil {
		return nil
	}
	for _, id := range t.accounts() {
		if ours, err := c.owns(ctx, id); err == nil && ours {
			return c.subscribedTo(ctx, id)
		}
	}
	return nil
}

// list is an answer with several objects, of which only the ids are used.
type list struct {
	Data []struct {
		ID string `json:"id"`
	} `json:"data"`
}

// owns reports whether the business account has the channel's number.
func (c *Channel) owns(ctx context.Context, account string) (bool, error) {
	var numbers list
	_, err := c.get(ctx, "list numbers", url.PathEscape(account)+"/phone_numbers?fields=id&limit=100", &numbers)
	for _, n := range numbers.Data {
		if n.ID == c.opts.PhoneNumberID {
			return true, nil
		}
	}
	return false, err
}

func (c *Channel) subscribedTo(ctx context.Context, account string) error {
	var apps list
	_, err := c.get(ctx, "list subscribed apps", url.PathEscape(account)+"/subscribed_apps", &apps)
	if err == nil && len(apps.Data) == 0 {
		return fmt.Errorf("whatsapp: %w", &channel.Trouble{Err: errors.New("subscribed_apps is empty"),
			Advice: func(language string) string { return fmt.Sprintf(say(language).NotSubscribed, account, account) }})
	}
	return nil
}
