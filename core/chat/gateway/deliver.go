package gateway

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/job"
	"github.com/everthread/everthread/core/store"
)

// Delays after errors of a delivery.
const (
	sendTimeout  = 30 * time.Second
	sendBackoff  = 2 * time.Second // at first; it doubles
	lastSend     = 5 * time.Minute
	sendFor      = 14 * 24 * time.Hour // of temporary errors until a delivery fails
	unknownDelay = 3 * time.Second
	settleDelay  = time.Minute // for a service to report the outcome of a part
)

// takeDelivery waits for a slot of the address's rate, then claims and sends a due delivery.
func (g *Gateway) takeDelivery(ctx context.Context, ref store.JobRef) {
	if !g.begin(ref.User, ref.ID) {
		return
	}
	defer g.end(ref.User, ref.ID)
	to, ok := core.ParseAddressKey(ref.Key)
	now := g.Now()
	slot := now
	if ok {
		wait := g.sendDelay(ctx, to, now)
		slot = now.Add(wait)
		job.Wait(ctx, wait)
	}
	if ctx.Err() != nil {
		return
	}
	d, err := g.Store.ClaimDelivery(ctx, ref, g.Jobs.Claim())
	g.uncertain(ref.User, err)
	g.logUnless(ctx, err, "claim delivery", zap.Int64("user", int64(ref.User)))
	if d == nil || err != nil {
		if ok { // another process has it: keep the slot for the next delivery
			g.reserve(to, slot)
		}
		return
	}
	g.work.Add(1)
	defer g.work.Done()
	g.send(g.ctx, d)
}

// send sends the parts of a claimed delivery in order, until one is not sent or the delivery is handed back.
func (g *Gateway) send(ctx context.Context, d *core.Delivery) {
	for n := range d.Parts {
		p := &d.Parts[n]
		if p.State != core.DeliverySending && p.State != core.DeliveryUnknown {
			continue
		}
		g.Crash.At("sending")
		r := g.sendPart(ctx, d, p)
		g.Crash.At("sent")
		more, err := g.finishPart(ctx, d, n, r)
		if err != nil {
			g.logUnless(ctx, err, "outcome of a part not stored", zap.Int64("user", int64(d.User)),
				zap.Int64("delivery", int64(d.ID)))
			return
		}
		g.Crash.At("marked")
		if !more {
			return
		}
	}
}

// finishPart stores the outcome of a part, and reports whether the next one may be sent now.
func (g *Gateway) finishPart(ctx context.Context, d *core.Delivery, n int, r store.PartResult) (more bool, err error) {
	if r.State == core.DeliverySent && n+1 < len(d.Parts) {
		if g.stopping.Load() {
			r.RetryAt = g.Now() // the next process continues
		} else if wait := g.rate(ctx, d.To, g.Now()); wait > 0 {
			r.RetryAt = g.Now().Add(wait)
			g.reserve(d.To, r.RetryAt)
		}
	}
	g.Meter.Count("everthread_deliveries_total", 1, string(r.State))
	err = g.retry(ctx, "finish part", func(ctx context.Context) (err error) {
		more, err = g.Store.FinishPart(ctx, d, n, r, g.Now())
		return err
	})
	if err == nil {
		g.tellUndelivered(ctx, d, r.State)
	}
	return more, err
}

// sendPart sends one part and returns its outcome.
func (g *Gateway) sendPart(ctx context.Context, d *core.Delivery, p *core.DeliveryPart) store.PartResult {
	ch := g.Channels[d.To.Channel]
	if ch == nil {
		return store.PartResult{State: core.DeliveryFailed, Error: "the channel " + d.To.Channel + " is not configured here"}
	}
	if d.Kind == core.DeliverRetraction {
		return g.retract(ctx, ch, d, p.Part.Retracts)
	}
	part := p.Part
	if p.State == core.DeliveryUnknown {
		g.Meter.Count("everthread_delivery_unknown_total", 1)
		if r := g.unsettled(d, p); r != nil {
			return *r
		}
		part.Again = true
		if !g.Channels.Capabilities(d.To.Channel).Idempotent {
			part.Text += "\n\n" + say(g.languageOf(ctx, d.User)).Repeat
		}
	}
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	start := g.Now()
	if !d.Window.IsZero() && !start.Before(d.Window) {
		return g.reopen(ctx, ch, d, part.Key)
	}
	if part.Attachment != nil {
		data, err := g.Files.Read(part.Attachment.Path)
		if err != nil {
			return store.PartResult{State: core.DeliveryFailed, Error: "the file " + part.Attachment.Name +
				" is not there any more"}
		}
		part.Data = data
	}
	to := d.To
	to.Place = part.Place
	receipt, err := ch.Send(ctx, to, part)
	g.Meter.Observe("everthread_turn_seconds", g.Now().Sub(start).Seconds(), "send")
	if err == nil {
		g.Meter.Count("everthread_messages_total", 1, "out", d.To.Channel)
		return store.PartResult{State: core.DeliverySent, Receipt: receipt}
	}
	g.Log.Warn("part not sent", zap.Int64("user", int64(d.User)), zap.Int64("delivery", int64(d.ID)),
		zap.String("channel", d.To.Channel), zap.Error(err))
	return g.judge(ctx, d, err)
}

// retract deletes a message of ours in the app, and returns the outcome. What cannot be deleted there stays.
func (g *Gateway) retract(ctx context.Context, ch core.Channel, d *core.Delivery, native string) store.PartResult {
	done := store.PartResult{State: core.DeliverySent}
	retractor, ok := ch.(core.Retractor)
	if !ok || native == "" {
		return done
	}
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	err := retractor.Retract(ctx, d.To, native)
	if err == nil {
		return done
	}
	g.Log.Info("message not deleted in the app", zap.Int64("user", int64(d.User)), zap.String("channel", d.To.Channel),
		zap.Error(err))
	if r := g.judge(ctx, d, err); r.State == core.DeliveryPending || r.State == core.DeliveryUnknown {
		r.State = core.DeliveryPending
		return r
	}
	return done
}

// unsettled returns the outcome of a part that may have arrived and must not be sent again now; nil: it is sent again.
func (g *Gateway) unsettled(d *core.Delivery, p *core.DeliveryPart) *store.PartResult {
	c := g.Channels.Capabilities(d.To.Channel)
	if c.Idempotent {
		return nil
	}
	tries := 0
	if c.Settles {
		tries = 1
		if p.Repeats == 0 {
			return &store.PartResult{State: core.DeliveryUnknown, RetryAt: g.Now().Add(settleDelay)}
		}
	}
	if d.Kind == core.DeliverPost || d.Kind == core.DeliverVoice || c.NoRepeat || p.Repeats > tries {
		return &store.PartResult{State: core.DeliveryUnknown, Error: "it may or may not have arrived; it was not sent again"}
	}
	return nil
}

// reopen parks a delivery to a person whose window is closed until they write. A channel
// that can asks them once whether they want it.
func (g *Gateway) reopen(ctx context.Context, ch core.Channel, d *core.Delivery, key string) store.PartResult {
	parked := store.PartResult{State: core.DeliveryParked, Error: "it is held until the person writes: " + d.To.Channel +
		" lets nobody be written to later than that after their last message"}
	reopener, ok := ch.(core.Reopener)
	if !ok || d.Asked || d.Kind == core.DeliverReply || d.Kind == core.DeliverVoice {
		return parked
	}
	_, err := reopener.Reopen(ctx, d.To, key)
	var unknown *core.Unknown
	if err != nil && !errors.As(err, &unknown) {
		g.Log.Warn("request to reopen the window not sent", zap.Int64("user", int64(d.User)),
			zap.String("channel", d.To.Channel), zap.Error(err))
		return parked
	}
	parked.Asked = true
	return parked
}

// judge returns the outcome of a part whose Send failed with err.
func (g *Gateway) judge(ctx context.Context, d *core.Delivery, err error) store.PartResult {
	now := g.Now()
	again := min(sendBackoff<<min(max(d.Lease.Attempt-1, 0), 10), lastSend)
	r := store.PartResult{State: core.DeliveryPending, RetryAt: now.Add(g.jitter(again)), Error: err.Error()}
	var wait *core.RetryAfter
	var permanent *core.Permanent
	var gone *core.Unreachable
	var unknown *core.Unknown
	switch {
	case errors.As(err, &wait):
		r.RetryAt = now.Add(wait.After)
		if wait.Account {
			g.logUnless(ctx, g.Limiter.Push(ctx, accountRate(d.To), r.RetryAt), "push rate")
		}
	case errors.As(err, &permanent):
		r.State, r.RetryAt = core.DeliveryFailed, time.Time{}
	case errors.As(err, &gone):
		r.State, r.RetryAt = core.DeliveryParked, time.Time{}
	case errors.As(err, &unknown):
		r.State, r.RetryAt = core.DeliveryUnknown, now.Add(unknownDelay)
	case now.Sub(d.CreatedAt) > sendFor:
		r.State, r.RetryAt = core.DeliveryFailed, time.Time{}
	}
	return r
}

func accountRate(a core.Address) string { return "rate:" + a.Channel + ":" + a.Account }

// rate reserves a slot of the chat's and the account's rate, and returns the wait for it.
func (g *Gateway) rate(ctx context.Context, to core.Address, now time.Time) time.Duration {
	c := g.Channels.Capabilities(to.Channel)
	wait := g.take(ctx, "rate:"+to.String(), c.RatePerChat, cmp.Or(c.BurstPerChat, 3), now)
	wait = max(wait, g.take(ctx, accountRate(to), c.RatePerAccount, int(max(1, c.RatePerAccount)), now))
	if wait > 0 {
		g.Meter.Observe("everthread_rate_limit_wait_seconds", wait.Seconds())
	}
	return wait
}

// reserve keeps a slot of an address's rate for a later delivery to it. Those that nobody uses for a minute, as another
// process has sent the delivery, are forgotten.
func (g *Gateway) reserve(to core.Address, slot time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	to = to.Chat()
	kept := slices.DeleteFunc(g.reserved[to], func(old time.Time) bool { return slot.Sub(old) > time.Minute })
	kept = append(kept, slot)
	slices.SortFunc(kept, time.Time.Compare)
	g.reserved[to] = kept
}

// sendDelay returns how long a delivery waits for its slot: the first reserved one, else a new one.
func (g *Gateway) sendDelay(ctx context.Context, to core.Address, now time.Time) time.Duration {
	if slot, ok := g.takeReserved(to); ok {
		return max(0, slot.Sub(now))
	}
	return g.rate(ctx, to, now)
}

func (g *Gateway) takeReserved(to core.Address) (time.Time, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	to = to.Chat()
	slots := g.reserved[to]
	if len(slots) == 0 {
		return time.Time{}, false
	}
	if g.reserved[to] = slots[1:]; len(slots) == 1 {
		delete(g.reserved, to)
	}
	return slots[0], true
}

func (g *Gateway) take(ctx context.Context, key string, perSecond float64, burst int, now time.Time) time.Duration {
	if perSecond <= 0 {
		return 0
	}
	wait, err := g.Limiter.Take(ctx, key, time.Duration(float64(time.Second)/perSecond), burst, now)
	g.logUnless(ctx, err, "take rate")
	return wait
}

// MemoryLimiter is a Limiter for one process. Each key is a leaky bucket kept as the time of its next free slot.
type MemoryLimiter struct {
	mu   sync.Mutex
	next map[string]time.Time
}

var _ Limiter = (*MemoryLimiter)(nil)

// NewMemoryLimiter returns an empty limiter.
func NewMemoryLimiter() *MemoryLimiter { return &MemoryLimiter{next: map[string]time.Time{}} }

// maxKeys is the number of buckets above which free ones are dropped.
const maxKeys = 10_000

// Take reserves the next slot of a key.
func (l *MemoryLimiter) Take(_ context.Context, key string, every time.Duration, burst int,
	now time.Time) (time.Duration, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.next) > maxKeys {
		for k, t := range l.next {
			if t.Before(now) {
				delete(l.next, k)
			}
		}
	}
	slot := now.Add(-every * time.Duration(burst-1))
	if t := l.next[key]; t.After(slot) {
		slot = t
	}
	l.next[key] = slot.Add(every)
	return max(0, slot.Sub(now)), nil
}

// Push blocks key until a time.
func (l *MemoryLimiter) Push(_ context.Context, key string, until time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.next[key].Before(until) {
		l.next[key] = until
	}
	return nil
}
