package gateway

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/text/i18n"
	"github.com/everthread/everthread/core/text/markup"
	"github.com/everthread/everthread/core/trust"
)

// Why a running turn is interrupted.
var (
	errStopped = errors.New("stopped by the person")
	errRestart = errors.New("its messages were changed")
	errJoin    = errors.New("more messages join it")
)

// maxRestarts bounds the restarts of a turn because of edits and of messages that join it.
const maxRestarts = 3

// running is a turn that this process works on.
type running struct {
	turn    *core.Turn
	visible atomic.Bool   // something of the answer was shown
	flagged chan struct{} // its flags may have changed

	mu       sync.Mutex
	cancel   context.CancelCauseFunc // of the current attempt
	ended    bool                    // the current attempt was interrupted
	acted    bool                    // a tool acted outside
	restarts int                     // requests seen so far
	joins    int                     // how often messages joined
	stopped  bool                    // requested, if only before the attempt
}

// show reports whether something of the answer may be shown, after which no message joins the turn.
func (r *running) show() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return false
	}
	r.visible.Store(true)
	return true
}

// acts notes that a tool is about to act outside, after which no message joins the turn.
func (r *running) acts() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.acted = r.acted || !r.ended
}

// takeTurn claims a due turn and runs it.
func (g *Gateway) takeTurn(ctx context.Context, ref store.JobRef) {
	select {
	case g.Slots <- struct{}{}:
	case <-ctx.Done():
		return
	}
	if !g.begin(ref.User, ref.ID) {
		<-g.Slots
		return
	}
	now := g.Now()
	u, err := g.People.User(ctx, ref.User)
	var t *core.Turn
	var put *store.Postponed
	if err == nil {
		t, put, err = g.Store.ClaimTurn(ctx, ref, g.Jobs.Claim(), g.budget(u, now))
		g.uncertain(ref.User, err)
	}
	if err != nil || t == nil {
		<-g.Slots
		g.end(ref.User, ref.ID)
		g.logUnless(ctx, err, "claim turn", zap.Int64("user", int64(ref.User)))
		if put != nil {
			g.logUnless(ctx, g.postponed(ctx, u, put, now), "user not notified of the used budget",
				zap.Int64("user", int64(ref.User)))
		}
		return
	}
	g.startTurn(t, u)
}

// postponed notifies the identity that the person used last that the day's budget is used up.
func (g *Gateway) postponed(ctx context.Context, u core.User, p *store.Postponed, now time.Time) error {
	ids, err := g.People.Identities(ctx, u.ID)
	if err != nil || len(ids) == 0 {
		return err
	}
	return g.tellPostponed(ctx, u, ids[0], p, now)
}

// startTurn runs a claimed turn in the slot that the caller took, and releases the slot.
func (g *Gateway) startTurn(t *core.Turn, u core.User) {
	g.begin(t.User, t.Lease.Job) // if it was claimed with its message
	r := &running{turn: t, flagged: make(chan struct{}, 1)}
	k := turnKey{t.User, t.ID}
	g.mu.Lock()
	g.running[k] = r
	g.mu.Unlock()
	g.work.Go(func() {
		g.Crash.At("claimed")
		d := g.runTurn(r, u)
		g.mu.Lock()
		delete(g.running, k)
		g.mu.Unlock()
		<-g.Slots
		g.end(t.User, t.Lease.Job)
		if d != nil && g.begin(d.User, d.Lease.Job) {
			defer g.end(d.User, d.Lease.Job)
			g.send(g.ctx, d)
		}
	})
}

// runTurn answers a turn until it is committed, handed back or lost. It returns the reply's
// delivery if the commit claimed it.
func (g *Gateway) runTurn(r *running, u core.User) *core.Delivery {
	t := r.turn
	held, release := g.Jobs.Hold(g.ctx, t.User, t.Lease)
	if t.Lease.Attempt > 1 {
		g.readFlags(held, r)
	}
	var watcher sync.WaitGroup
	watcher.Go(func() { g.watch(held, r) })
	defer func() {
		release()
		watcher.Wait()
	}()
	for {
		d, err := g.attempt(held, r, u)
		if errors.Is(err, errJoin) {
			err = g.join(held, t)
		}
		if !errors.Is(err, errRestart) {
			g.logTurn(t, err)
			return d
		}
		t.Again = true
	}
}

// join adds the messages that were sent since to a turn, which then begins again.
func (g *Gateway) join(ctx context.Context, t *core.Turn) error {
	_, err := g.Store.JoinTurn(ctx, t, g.Now())
	if errors.Is(err, core.ErrFenced) || ctx.Err() != nil {
		return err
	}
	g.logUnless(ctx, err, "messages not joined; the next turn answers them", zap.Int64("user", int64(t.User)))
	return errRestart
}

// readFlags reads the flags that a turn got before this process claimed it.
func (g *Gateway) readFlags(ctx context.Context, r *running) {
	f, err := g.Store.Flags(ctx, r.turn.User, r.turn.ID)
	if err == nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.stopped, r.restarts = f.Stop, f.Restart
	}
}

// attempt answers once. After errRestart the caller tries again immediately.
func (g *Gateway) attempt(held context.Context, r *running, u core.User) (*core.Delivery, error) {
	ctx, cancel := context.WithCancelCause(held)
	defer cancel(nil)
	r.mu.Lock()
	r.cancel, r.ended = cancel, false
	if r.stopped {
		cancel(errStopped)
	}
	r.mu.Unlock()
	start := g.Now()
	if r.turn.Task != 0 && g.Tasks.Late(r.turn, start) {
		return nil, g.failTask(r.turn, u, core.CauseLate, nil)
	}
	preview := g.startPreview(ctx, r)
	defer preview.close()
	on := core.Progress{Acts: r.acts, Text: func(soFar string) {
		if g.Previews != nil && g.Previews.Followed(r.turn.User) && r.show() {
			g.Previews.Preview(r.turn, soFar)
		}
		preview.text(soFar)
	}}
	p, err := g.Prompts.Prompt(ctx, r.turn, u, start)
	if err != nil {
		return nil, g.failed(ctx, r, u, fmt.Errorf("build context: %w", err))
	}
	g.Crash.At("prompt")
	built := g.Now()
	g.Meter.Observe("everthread_turn_seconds", built.Sub(start).Seconds(), "context")
	g.logContext(r.turn, &p.Snapshot)
	a, err := g.Agent.Answer(ctx, r.turn, u, p, on)
	preview.close()
	g.Crash.At("model")
	now := g.Now()
	g.Meter.Observe("everthread_turn_seconds", now.Sub(built).Seconds(), "model")
	g.countTokens(a.Spent.Total())
	r.turn.Used, r.turn.Today = r.turn.Used.And(a.Spent), g.Calendar.Day(u.Settings, now).Label
	if err != nil {
		if !errors.Is(context.Cause(ctx), errStopped) {
			return nil, g.failed(ctx, r, u, err)
		}
		a.Finish = core.FinishStopped
	}
	finish(&p.Snapshot, a, now.Sub(start))
	reply, err := g.answered(ctx, r, u, p, a, now)
	if err != nil {
		return nil, g.failed(ctx, r, u, fmt.Errorf("ask the person: %w", err))
	}
	return g.commit(r.turn, reply)
}

// answered returns an answer as it is committed, with its questions, notes and buttons.
func (g *Gateway) answered(ctx context.Context, r *running, u core.User, p store.Prompt, a core.Answer,
	now time.Time) (store.Reply, error) {
	q, err := g.questions(ctx, r.turn, u, &a, now)
	if err != nil {
		return store.Reply{}, err
	}
	done := disclose(g.language(u.Settings), a.Effects)
	done.tell(g.language(u.Settings), &a)
	tellSearched(g.language(u.Settings), &a)
	g.tellMissed(g.language(u.Settings), p, &a)
	g.tellInstead(r.turn, u, &a)
	reply := g.reply(r.turn, u, p, a, now)
	g.deliverTask(&reply, q)
	q.buttons = append(q.buttons, done.buttons[:min(len(done.buttons), maxUndoButtons)]...)
	q.askIn(&reply)
	if a.Finish == core.FinishStopped {
		reply.State = core.TurnStopped
	}
	if len(reply.Deliveries) > 0 && (r.visible.Load() || r.turn.Lease.Attempt > 1) { // a preview becomes the answer
		reply.Deliveries[0].Parts[0].Preview = previewKey(r.turn)
	}
	return reply, nil
}

// questions returns the questions of an answer. A stopped answer proposes nothing.
func (g *Gateway) questions(ctx context.Context, t *core.Turn, u core.User, a *core.Answer,
	now time.Time) (asking, error) {
	q, err := g.question(ctx, t, u, a, now)
	stopped := a.Finish == core.FinishStopped
	if err == nil && !stopped {
		err = g.propose(ctx, t, u, a, &q, now)
	}
	if err == nil && !stopped {
		err = g.proposeTasks(ctx, t, u, a, &q, now)
	}
	return q, err
}

// finish adds the figures of an answer to its snapshot.
func finish(s *store.Snapshot, a core.Answer, total time.Duration) {
	s.Model, s.Usage, s.Steps, s.Finish, s.Reduced = a.Model, a.Spent.Total(), a.Steps, a.Finish, a.Reduced
	s.FirstTokenMS, s.TotalMS = a.FirstToken.Milliseconds(), total.Milliseconds()
}

// reply returns an answer as it is committed, before anything is asked with it.
func (g *Gateway) reply(t *core.Turn, u core.User, p store.Prompt, a core.Answer, now time.Time) store.Reply {
	r := store.Reply{Turn: t, State: core.TurnDone, Now: now, Messages: a.Messages, Snapshot: &p.Snapshot, Epoch: p.Epoch,
		News: p.News, Told: p.Told, Spent: t.Used, Effects: a.Effects, Summarize: p.Pressure, Compress: p.Compress,
		SummarizeAfter: g.Settings.SummarizeAfter, Day: g.Calendar.Day(u.Settings, now).Label}
	for i := range r.Messages {
		m := &r.Messages[i]
		m.Kind, m.SentAt = core.KindChat, now
		if m.Tokens == 0 {
			m.Tokens = core.TokensOf(g.Tokens, m.Text, m.ToolCalls)
		}
	}
	if n := len(r.Messages); n > 0 && r.Messages[n-1].Role == core.RoleAssistant && r.Messages[n-1].Text != "" {
		last := &r.Messages[n-1]
		if a.Finish.Early() {
			last.Unfinished = a.Finish
		}
		parts := append(g.written(g.language(u.Settings), last, t.Address.Channel),
			g.files(last.Attachments, t.Address.Channel)...)
		r.Deliveries = []core.NewDelivery{{To: t.Address, Identity: t.Identity, Kind: core.DeliverReply, Parts: parts}}
		replyTo(t.Reply, r.Deliveries)
		r.Speak = a.Question == nil && g.speaks(u, p, t.Address.Channel)
	}
	return r
}

// written renders an answer for a channel. An unfinished one ends with a mark that says so.
func (g *Gateway) written(language string, m *core.NewMessage, channel string) []core.Part {
	if m.Unfinished == "" {
		return g.parts(m.Text, channel)
	}
	w := i18n.Unfinished(language, m.Unfinished)
	return trust.WithButtons(markup.Ending(m.Text, w.Why+" "+w.Hint, g.room(channel)),
		[]core.Button{{Label: w.Button, Command: core.ContinueCommand}})
}

// commit stores a reply. It claims the reply's delivery in the same transaction if it can be sent immediately.
func (g *Gateway) commit(t *core.Turn, r store.Reply) (*core.Delivery, error) {
	ctx := context.WithoutCancel(g.ctx)
	claim := g.claimReply(ctx, t, r)
	g.rings(ctx, &r)
	var out store.Committed
	err := g.retry(g.ctx, "commit reply", func(ctx context.Context) (err error) {
		now := g.Jobs.Claim() // leases begin now, however long the store was away
		if claim != nil {
			claim = &now
		}
		if r.Summary = nil; g.Summaries != nil && g.Summaries.Free() && !g.Slots.Busy() {
			r.Summary = &now
		}
		out, err = g.Store.Commit(ctx, r, claim)
		return err
	})
	if err != nil {
		g.uncertain(t.User, err)
		return nil, err
	}
	g.Crash.At("committed")
	if out.Summary != nil {
		g.Summaries.Begin(out.Summary)
	}
	if claim != nil && out.Delivery == nil {
		g.reserve(t.Address, r.Now) // another delivery is sent first: keep the slot
	}
	g.Meter.Observe("everthread_turn_seconds", g.Now().Sub(t.StartedAt).Seconds(), "total")
	if r.Snapshot != nil && r.Snapshot.NewEpoch != "" && r.Snapshot.Dropped > 0 {
		g.Meter.Count("everthread_context_dropped_uncovered_total", float64(r.Snapshot.Dropped))
	}
	return out.Delivery, nil
}

// rings marks the last message of a reply if a delivery goes where devices are notified instead, or is a task's and
// waits because the app cannot receive it now.
func (g *Gateway) rings(ctx context.Context, r *store.Reply) {
	if n := len(r.Messages); n > 0 {
		r.Messages[n-1].Rings = slices.ContainsFunc(r.Deliveries, func(d core.NewDelivery) bool {
			return g.Channels.Capabilities(d.To.Channel).Rings || r.Turn.Task != 0 && g.away(ctx, r.Turn.User, d.Identity)
		})
	}
}

// away reports whether an identity cannot receive anything now. If that cannot be read, it can.
func (g *Gateway) away(ctx context.Context, user core.UserID, id core.IdentityID) bool {
	ids, err := g.People.Identities(ctx, user)
	g.logUnless(ctx, err, "not known whether an app can receive")
	return slices.ContainsFunc(ids, func(i core.Identity) bool { return i.ID == id && !g.planner.receives(i, g.Now()) })
}

// claimReply returns a claim of the reply's delivery if it can be sent immediately, else nil.
func (g *Gateway) claimReply(ctx context.Context, t *core.Turn, r store.Reply) *store.Claim {
	if len(r.Deliveries) == 0 || !g.sends(t.Address.Channel) {
		return nil
	}
	if wait := g.sendDelay(ctx, t.Address, r.Now); wait > 0 {
		g.reserve(t.Address, r.Now.Add(wait))
		return nil
	}
	c := g.Jobs.Claim()
	return &c
}

// watch reads the flags of a running turn, when woken and at intervals, until ctx ends.
func (g *Gateway) watch(ctx context.Context, r *running) {
	k, started := turnKey{r.turn.User, r.turn.ID}, r.turn.StartedAt // messages that join replace the turn
	t := time.NewTicker(g.Jobs.Lease / 3)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.flagged:
		case <-t.C:
		}
		f, err := g.Store.Flags(ctx, k.user, k.turn)
		if err == nil {
			r.obey(f, g.Now().Sub(started) <= g.Settings.Join)
		}
	}
}

// obey interrupts the current attempt if the flags request it. Messages that wait join the turn if it is early.
func (r *running) obey(f store.TurnFlags, early bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	open := !r.visible.Load() && r.restarts+r.joins < maxRestarts
	again := f.Restart > r.restarts && open
	switch {
	case f.Stop:
		r.stopped = true
		r.interrupt(errStopped)
		return
	case again:
		r.interrupt(errRestart)
	case f.More && early && open && !r.acted && !r.ended && !r.turn.Solo:
		r.joins++
		r.interrupt(errJoin)
	}
	r.restarts = max(f.Restart, r.restarts)
}

// interrupt cancels the current attempt. The caller holds mu.
func (r *running) interrupt(cause error) {
	if r.cancel != nil {
		r.cancel(cause)
		r.ended = true
	}
}

// flagged passes a wake-up on to the running turn that it names.
func (g *Gateway) flagged(topic string) {
	var k turnKey
	if n, _ := fmt.Sscanf(topic, "flags:%d:%d", &k.user, &k.turn); n != 2 {
		return
	}
	g.mu.Lock()
	r := g.running[k]
	g.mu.Unlock()
	if r == nil {
		return
	}
	select {
	case r.flagged <- struct{}{}:
	default:
	}
}

func (g *Gateway) logUnless(ctx context.Context, err error, what string, fields ...zap.Field) {
	if err != nil && ctx.Err() == nil {
		g.Log.Warn(what, append(fields, zap.Error(err))...)
	}
}

// files returns attachments as parts of a reply; on a channel without files, their names.
func (g *Gateway) files(as []core.Attachment, channel string) []core.Part {
	var out []core.Part
	for _, a := range as {
		if g.Channels.Capabilities(channel).Files {
			out = append(out, core.Part{Text: a.Alt, Attachment: &a})
			continue
		}
		out = append(out, core.Part{Text: a.Named()})
	}
	return out
}

// speaks reports whether a reply is also spoken: the person wants it, and the channel supports it.
func (g *Gateway) speaks(u core.User, p store.Prompt, channel string) bool {
	return g.Settings.Speaks && u.Settings.Voice.Speaks(p.Heard) && g.Channels.Capabilities(channel).Voice
}

// tellInstead adds to an answer that another model gave it than the one that its person, or the task, has chosen.
func (g *Gateway) tellInstead(t *core.Turn, u core.User, a *core.Answer) {
	chosen := u.Settings.Model
	if t.Task > 0 {
		chosen = t.Model
	}
	if n := len(a.Messages) - 1; a.Instead && chosen != "" && n >= 0 && a.Messages[n].Role == core.RoleAssistant {
		sayAlso(a, fmt.Sprintf(say(g.language(u.Settings)).ToldInstead, chosen, a.Model), false)
	}
}

// tellMissed adds to an answer which of the person's messages it could not consider, and why: how much of them had no
// room in the prompt, and which of their files could not be received, read or heard.
func (g *Gateway) tellMissed(language string, p store.Prompt, a *core.Answer) {
	n := len(a.Messages) - 1
	if n < 0 || a.Messages[n].Role != core.RoleAssistant {
		return
	}
	if p.Cut.Percent() > 0 && len(a.Messages[n].ToolCalls) == 0 {
		sayAlso(a, fmt.Sprintf(say(language).ToldCut, p.Cut.Percent()), false)
	}
	var told []string
	for _, f := range p.Files {
		if why := g.missed(language, f); why != "" && !slices.Contains(told, why) {
			told = append(told, why)
			sayAlso(a, why, false)
		}
	}
}

// missed tells why a file could not be received or heard; empty: it was.
func (g *Gateway) missed(language string, f core.Attachment) string {
	w := say(language)
	most := g.Settings.LongestVoice
	switch {
	case f.Long:
		return fmt.Sprintf(w.VoiceLong, fmt.Sprintf("%d:%02d", most/time.Minute, most%time.Minute/time.Second))
	case f.Speech == core.SpeechNone:
		return w.VoiceSilent
	case f.Speech == core.SpeechFailed:
		return w.VoiceFailed
	}
	what := map[core.FileProblem]string{core.FileLarge: w.FileLarge, core.FileGone: w.FileGone, core.FileRoom: w.FileRoom,
		core.FileFailed: w.FileFailed, core.FileComing: w.FileComing}[f.Missing()]
	if what == "" {
		return ""
	}
	name := w.File
	if f.Name != "" {
		name = quote(clipped(trust.Line(f.Name)))
	}
	return fmt.Sprintf(what, name)
}
