package gateway

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/job"
	"github.com/everthread/everthread/core/store"
)

// Back-off of a turn whose model call failed.
const (
	firstBackoff = time.Second
	lastBackoff  = time.Minute
)

// emptyTries is how often a turn may fail before an empty answer is taken for the model's answer to this request: it
// may be chance, and most often is about the request.
const emptyTries = 3

// failed decides how a turn continues after an error: it restarts, is handed back for a
// later retry, or is given up with a message that says so.
func (g *Gateway) failed(ctx context.Context, r *running, u core.User, err error) error {
	t := r.turn
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errRestart), errors.Is(cause, errJoin):
		return cause
	case errors.Is(cause, core.ErrFenced):
		return err
	case errors.Is(cause, errStopped), errors.Is(err, core.ErrNotFound):
		return g.giveUp(t, u, core.TurnStopped, nil)
	case ctx.Err() != nil:
		return g.handBack(t, g.Now(), "")
	}
	m, ok := errors.AsType[*core.ModelError](err)
	if ok {
		g.Meter.Count("everthread_llm_errors_total", 1, string(m.Kind))
	}
	now := g.Now()
	wait := g.backoff(t.Failures, m)
	given := hopeless(m) && (t.Failures >= emptyTries || !errors.Is(m, core.ErrEmpty))
	if t.Task != 0 && (spent(err) || given) {
		return g.failTask(t, u, causeOf(err), err)
	}
	since := t.StartedAt
	if t.Failures == 0 {
		since = now // a turn that waited while no process ran still gets its retries
	}
	if given || now.Add(wait).Sub(since) > g.Settings.GiveUpAfter {
		g.Log.Error("turn given up", zap.Int64("user", int64(t.User)), zap.Int64("turn", int64(t.ID)), zap.Error(err))
		if err := g.giveUp(t, u, core.TurnFailed, err); err != nil {
			return err
		}
		g.logUnless(g.ctx, g.tellOwner(context.WithoutCancel(g.ctx), u, m), "owner not notified of the model's error")
		return nil
	}
	if back := g.handBack(t, now.Add(wait), err.Error()); back != nil {
		return back
	}
	return fmt.Errorf("retry in %s: %w", wait.Round(time.Millisecond), err)
}

// hopeless reports whether the same request can only fail again; an empty answer may be one more by chance.
func hopeless(m *core.ModelError) bool {
	if m == nil {
		return false
	}
	switch m.Kind {
	case core.ModelAuth, core.ModelConfig, core.ModelTooLong, core.ModelRejected:
		return true
	}
	return false
}

// backoff returns how long a turn waits after its n-th failure.
func (g *Gateway) backoff(n int, m *core.ModelError) time.Duration {
	if m != nil && m.After > 0 {
		return m.After
	}
	return g.jitter(min(firstBackoff<<min(n, 10), lastBackoff))
}

// handBack releases a turn for any process to claim from at on. An empty cause is no failure.
func (g *Gateway) handBack(t *core.Turn, at time.Time, cause string) error {
	return g.retry(g.ctx, "hand back turn", func(ctx context.Context) error {
		return g.Store.RetryTurn(ctx, t, at, cause)
	})
}

// giveUp ends a turn without an answer. If it failed, its messages are pending again and the person is notified. A
// program was told, and its request is never joined with others: if the model refuses it, it is not tried again, so
// that it does not hold up all that follows.
func (g *Gateway) giveUp(t *core.Turn, u core.User, state core.TurnState, cause error) error {
	now := g.Now()
	if state == core.TurnFailed && t.Task != 0 {
		return g.failTask(t, u, causeOf(cause), cause)
	}
	r := store.Reply{Turn: t, State: state, Now: now, Day: g.Calendar.Day(u.Settings, now).Label, Spent: t.Used}
	if state == core.TurnFailed {
		r.Error = cause.Error()
		r.Refused = refuses(cause)
		r.Drop = r.Refused && g.Channels.Capabilities(t.Address.Channel).Program
		r.Messages, r.Deliveries = g.notice(g.apology(u, cause, r.Drop),
			core.Identity{ID: t.Identity, Address: t.Address}, now)
	}
	return g.unanswered("give up turn", r)
}

// unanswered stores a reply that ends a turn without an answer.
func (g *Gateway) unanswered(op string, r store.Reply) error {
	g.rings(context.WithoutCancel(g.ctx), &r)
	return g.retry(g.ctx, op, func(ctx context.Context) error {
		_, err := g.Store.Commit(ctx, r, nil)
		return err
	})
}

// apology explains why there is no answer: to the owner with the error of the model's
// server and the remedy, to a member that it is not their fault.
func (g *Gateway) apology(u core.User, cause error, dropped bool) string {
	w := say(g.language(u.Settings))
	var m *core.ModelError
	if !errors.As(cause, &m) || !hopeless(m) {
		return w.GaveUp
	}
	owner, refused := u.Role == core.RoleOwner, w.GaveUpRefused
	if dropped {
		refused = w.GaveUpDropped
	}
	switch {
	case errors.Is(m, core.ErrThoughtOnly) && owner && !dropped:
		return w.GaveUpThoughtOwner
	case errors.Is(m, core.ErrThoughtOnly) && !dropped:
		return w.GaveUpThought
	case errors.Is(m, core.ErrEmpty) && !dropped:
		return w.GaveUpEmpty
	case owner && operators(m):
		return fmt.Sprintf(w.GaveUpOwner, quote(m.Err.Error()))
	case operators(m):
		return w.GaveUpSetup
	case owner:
		return refused + "\n" + quote(m.Err.Error())
	}
	return refused
}

// refuses reports whether the model's server refuses this very request.
func refuses(err error) bool {
	m, ok := errors.AsType[*core.ModelError](err)
	return ok && hopeless(m) && !operators(m)
}

// operators reports whether only the owner can fix the cause of an error.
func operators(m *core.ModelError) bool {
	return m != nil && (m.Kind == core.ModelAuth || m.Kind == core.ModelConfig)
}

// tellOwner notifies the owner, once a day, that members get no answers and why, if only the owner can fix that.
func (g *Gateway) tellOwner(ctx context.Context, u core.User, m *core.ModelError) error {
	if u.Role == core.RoleOwner || !operators(m) {
		return nil
	}
	owner, err := g.People.Owner(ctx)
	if err != nil {
		return err
	}
	targets, err := g.planner.Plan(ctx, owner, false)
	if err != nil {
		return err
	}
	now := g.Now()
	text := fmt.Sprintf(say(g.language(owner.Settings)).MembersUnanswered, quote(m.Err.Error()))
	n := store.Note{User: owner.ID, Once: "model " + string(m.Kind) + ":" + g.Calendar.Day(owner.Settings, now).Label,
		Now: now, Messages: []core.NewMessage{{Role: core.RoleAssistant, Kind: core.KindNotice, Text: text, SentAt: now,
			Rings: core.Unreached(targets)}}}
	for _, to := range targets {
		n.Deliveries = append(n.Deliveries, to.Delivery(core.DeliverNotice, g.parts(text, to.Identity.Address.Channel)))
	}
	_, err = g.Store.Note(ctx, n)
	return err
}

func (g *Gateway) logTurn(t *core.Turn, err error) {
	fields := []zap.Field{zap.Int64("user", int64(t.User)), zap.Int64("thread", int64(t.Thread)),
		zap.Int64("turn", int64(t.ID)), zap.String("channel", t.Address.Channel)}
	switch {
	case err == nil:
		g.Log.Debug("turn done", fields...)
	case errors.Is(err, core.ErrFenced):
		g.Log.Info("turn was taken over by another process", fields...)
	default:
		g.Log.Warn("turn not answered", append(fields, zap.Error(err))...)
	}
}

func (g *Gateway) logContext(t *core.Turn, s *store.Snapshot) {
	g.Log.Info("context built", zap.Int64("user", int64(t.User)), zap.Int64("turn", int64(t.ID)),
		zap.Int64("session_id", int64(s.Session)), zap.String("trace_id", s.Trace),
		zap.String("strategy", s.Strategy), zap.Int("total", s.Total), zap.Int("cap", s.Cap), zap.Int("in_thread", s.Thread),
		zap.Int("loaded", s.Loaded), zap.Int("included", s.Included), zap.Int("shortened", s.Shortened),
		zap.Int("messages_truncated", s.Truncated),
		zap.Int("left_out_covered", s.LeftOut), zap.Int("dropped_uncovered", s.Dropped),
		zap.Bool("today_summary", s.TodaySummary), zap.Bool("last_conversation", s.LastConversation),
		zap.Int("open_loops", s.OpenLoops), zap.String("new_epoch", s.NewEpoch))
}

func (g *Gateway) countTokens(u core.Usage) {
	for kind, n := range map[string]int{"prompt": u.Prompt, "cached": u.Cached, "completion": u.Completion} {
		if n > 0 {
			g.Meter.Count("everthread_tokens_total", float64(n), kind)
		}
	}
}

const (
	storeBackoff = time.Second
	retryFor     = 5 * time.Minute
	lastWrite    = 2 * time.Second // for a write of a stopping process
)

// retry repeats a write that records finished work, so that an outage of the database does not cause the work to be
// done twice. During an outage no other process can claim it. It ends soon after ctx. Errors are wrapped with what.
func (g *Gateway) retry(ctx context.Context, what string, write func(ctx context.Context) error) error {
	until := g.Now().Add(retryFor)
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { job.Wait(inner, lastWrite); cancel() })()
	for level := zap.WarnLevel; ; level = zap.DebugLevel {
		err := write(inner)
		if err == nil {
			return nil
		}
		if settled(err) || ctx.Err() != nil || !g.Now().Before(until) {
			return fmt.Errorf("%s: %w", what, err)
		}
		g.Log.Log(level, "write failed; it is retried", zap.String("what", what), zap.Error(err))
		job.Wait(ctx, storeBackoff)
	}
}

// settled reports whether an error is the store's decision, which a retry cannot change.
func settled(err error) bool { return refused(err) || errors.Is(err, core.ErrFenced) }

// uncertain has jobs of a user abandoned that this process may have claimed with a failed write. The write may have
// been committed, and then nobody would work on the jobs until their leases expire.
func (g *Gateway) uncertain(user core.UserID, err error) {
	if err == nil || refused(err) || errors.Is(err, core.ErrChanged) {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.unsure) == 0 {
		g.work.Go(g.abandon)
	}
	g.unsure[user] = g.Now()
}

// abandon releases claims that this process does not know of, one user after another.
func (g *Gateway) abandon() {
	for more := true; more && !g.stopping.Load(); { // a process that ends leaves none behind
		job.Wait(g.ctx, storeBackoff)
		for user, at := range g.idle() {
			if err := g.Store.Abandon(g.ctx, user, g.Jobs.Name, at); err != nil {
				g.Log.Debug("claims not abandoned yet", zap.Int64("user", int64(user)), zap.Error(err))
				break // the store does not answer
			}
			g.sure(user, at)
		}
		g.mu.Lock()
		more = len(g.unsure) > 0
		g.mu.Unlock()
	}
}

// idle returns the users with a failed write for whom this process does nothing now, and
// the time of the write: any claim of theirs is one that this process does not know of.
func (g *Gateway) idle() map[core.UserID]time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	out := maps.Clone(g.unsure)
	for k := range g.doing {
		delete(out, k.user)
	}
	return out
}

// sure forgets a user's failed write, unless a later one failed.
func (g *Gateway) sure(user core.UserID, at time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.unsure[user].Equal(at) {
		delete(g.unsure, user)
	}
}

// begin records that this process works on a job. It returns false if it does already: a
// claim that expired while the database was away remains ours until another process takes it.
func (g *Gateway) begin(user core.UserID, id core.JobID) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.doing[jobKey{user, id}] {
		return false
	}
	g.doing[jobKey{user, id}] = true
	return true
}

func (g *Gateway) end(user core.UserID, id core.JobID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.doing, jobKey{user, id})
}
