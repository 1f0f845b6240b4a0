package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
)

// The range in which a platform's time of a message is trusted.
const (
	maxAhead  = 5 * time.Minute
	maxBehind = 7 * 24 * time.Hour
)

// Receive stores inbound events; see core.Receiver. Events of one address keep their
// order; an error of one address does not stop the others.
func (g *Gateway) Receive(ctx context.Context, in ...core.Inbound) error {
	if len(in) == 1 && in[0].Group != nil {
		return g.gather(ctx, in[0])
	}
	return g.receive(ctx, in)
}

// receive is Receive for events that wait for no others.
func (g *Gateway) receive(ctx context.Context, in []core.Inbound) error {
	if len(in) == 1 {
		return g.receiveAll(ctx, in)
	}
	var group errgroup.Group
	group.SetLimit(receiving)
	for _, batch := range byAddress(in) {
		group.Go(func() error { return g.receiveAll(ctx, batch) })
	}
	return group.Wait()
}

// receiving bounds the addresses whose events are stored at the same time. Many of them share commits.
const receiving = 64

// byAddress groups events by address, each group in order.
func byAddress(in []core.Inbound) [][]core.Inbound {
	var out [][]core.Inbound
	index := map[core.Address]int{}
	for _, e := range in {
		n, ok := index[e.Address.Chat()]
		if !ok {
			n = len(out)
			index[e.Address.Chat()] = n
			out = append(out, nil)
		}
		out[n] = append(out[n], e)
		if e.Kind == core.InMoved { // what comes from the new address comes after the move
			moved := e.Address.Chat()
			moved.External = e.Target
			if _, ok := index[moved]; !ok {
				index[moved] = n
			}
		}
	}
	return out
}

// receiveAll stores the events of one address, and runs of plain messages in one transaction.
func (g *Gateway) receiveAll(ctx context.Context, in []core.Inbound) error {
	g.Crash.At("received")
	for len(in) > 0 {
		n := 1
		if g.plain(in[0]) {
			for n < len(in) && g.plain(in[n]) && in[n].Thread == in[0].Thread && in[n].Address == in[0].Address &&
				g.addressed(in[n]) == g.addressed(in[0]) {
				n++
			}
		}
		if err := g.receiveRun(ctx, in[:n]); err != nil {
			return fmt.Errorf("receive %s: %w", in[0].EventID, err)
		}
		in = in[n:]
	}
	g.Crash.At("stored")
	return nil
}

// dated returns the time of an event, or now if no calendar has it.
func dated(t, now time.Time) time.Time {
	if year := t.UTC().Year(); year < 1970 || year > 9000 {
		return now
	}
	return t
}

// plain reports whether an event is a message that is neither a command nor an answer.
func (g *Gateway) plain(in core.Inbound) bool {
	return in.Kind == core.InMessage && !commands(in) && !g.answers(in)
}

// answers reports whether an event may answer a question of ours. A program's event never does.
func (g *Gateway) answers(in core.Inbound) bool {
	return in.Group == nil && in.ToolCallID == "" && !in.Program && in.ForwardedFrom == "" && !in.Tainted && len(in.Attachments) == 0 &&
		g.Commands.Answers(in.Text)
}

// commands reports whether an event is a command. A tool result never is, a program's event
// only if the program marks it.
func commands(in core.Inbound) bool {
	word, _, _ := strings.Cut(strings.TrimSpace(in.Text), " ")
	if g := in.Group; g != nil && (g.Program || in.ForwardedFrom != "" || strings.Contains(word, "@")) {
		return false // a command with a name is another assistant's
	}
	return in.ToolCallID == "" && (!in.Program || in.Command) && isCommand(in.Text)
}

func isCommand(text string) bool {
	t := strings.TrimSpace(text)
	return len(t) > 1 && (t[0] == '/' || t[0] == '!')
}

// receiveRun stores events that need one transaction. A panic about an event is an error like others, so that no event
// ends the process.
func (g *Gateway) receiveRun(ctx context.Context, in []core.Inbound) (err error) {
	defer func() {
		if p := recover(); p != nil {
			g.Log.Error("an event cannot be received", zap.String("channel", in[0].Address.Channel),
				zap.String("event", in[0].EventID), zap.Any("panic", p), zap.Stack("stack"))
			err = fmt.Errorf("receive: %v", p)
		}
	}()
	now := g.Now()
	for n := range in {
		in[n].SentAt = dated(in[n].SentAt, now)
	}
	g.Meter.Count("everthread_messages_total", float64(len(in)), "in", in[0].Address.Channel)
	if in[0].Group != nil {
		return g.fromGroup(ctx, in, now)
	}
	switch in[0].Kind {
	case core.InUnsupported:
		_, err := g.Store.Hold(ctx, store.Hold{Event: in[0], Now: now})
		g.Log.Info("event kept raw", zap.String("channel", in[0].Address.Channel), zap.String("event", in[0].EventID))
		return err
	}
	if in[0].Kind == core.InGroup {
		return g.inGroup(ctx, in[0], now)
	}
	i, u, err := g.identify(ctx, in[0])
	i.Address.Place = in[0].Address.Place // what answers the event goes there
	if errors.Is(err, core.ErrNotFound) {
		return g.stranger(ctx, in)
	}
	if err != nil {
		return err
	}
	if u.Group() { // what is said there has a speaker, whom this event does not name
		_, err := g.Store.Hold(ctx, store.Hold{Event: in[0], Now: now})
		return err
	}
	for n := range in {
		if err := g.quote(ctx, u, i, in[n].Quote); err != nil {
			return err
		}
	}
	err = g.fromUser(ctx, u, i, in, now)
	if errors.Is(err, core.ErrNotFound) && in[0].Thread == 0 { // threads have other ids after a merge
		if _, is, _ := g.identify(ctx, in[0]); is.ID != 0 && is.ID != u.ID {
			return g.receiveRun(ctx, in) // the sender was merged since they were identified
		}
	}
	return err
}

// quote completes the quote of an event from the transcript: whose words they are, what they are where the service does
// not say or knows less (a transcript), and the files of the message.
func (g *Gateway) quote(ctx context.Context, u core.User, i core.Identity, q *core.Quote) error {
	if q == nil || q.NativeID == "" {
		return nil
	}
	m, part, err := g.Store.Quoted(ctx, u.ID, i.ID, q.NativeID)
	if errors.Is(err, core.ErrNotFound) {
		return nil
	}
	if err != nil || m.Redacted {
		return err
	}
	q.Of(m)
	if q.Text == "" || len(m.Attachments) > 0 && strings.HasPrefix(q.Text, "[") {
		q.Text = cmp.Or(part, m.Text)
	}
	return nil
}

// identify returns the sender of an event. If they are known by an alias of the address only, the address replaces it.
func (g *Gateway) identify(ctx context.Context, e core.Inbound) (core.Identity, core.User, error) {
	i, u, err := g.Store.Identify(ctx, e.Address)
	for _, alias := range e.Aliases {
		if !errors.Is(err, core.ErrNotFound) {
			break
		}
		a := e.Address
		a.External = alias
		i, u, err = g.Store.Identify(ctx, a)
	}
	if err != nil || i.Address == e.Address.Chat() && (len(e.Aliases) == 0 || slices.Equal(i.Aliases, e.Aliases)) {
		return i, u, err
	}
	err = g.Store.Readdress(ctx, i, e.Address.External, e.Aliases)
	i.Address, i.Aliases = e.Address.Chat(), e.Aliases
	return i, u, err
}

// moved stores a person's new address on the same channel.
func (g *Gateway) moved(ctx context.Context, i core.Identity, e core.Inbound, now time.Time) error {
	err := g.Store.Readdress(ctx, i, e.Target, e.Aliases)
	if errors.Is(err, core.ErrExists) {
		g.Log.Warn("move to an address of another user ignored", zap.Int64("user", int64(i.User)),
			zap.String("channel", i.Address.Channel))
		err = nil
	}
	if err != nil {
		return err
	}
	_, err = g.Store.Hold(ctx, store.Hold{Event: e, Now: now})
	return err
}

// byHand stores a message that somebody wrote to a person through our account: it belongs
// to the conversation, and is not answered.
func (g *Gateway) byHand(ctx context.Context, u core.User, i core.Identity, e core.Inbound, now time.Time) error {
	m := g.newMessage(u, e, now)
	m.Role = core.RoleAssistant
	_, err := g.Store.Note(ctx, store.Note{User: u.ID, Identity: i.ID, Event: &e, Messages: []core.NewMessage{m}, Now: now})
	return err
}

// stranger has People decide about messages from an unknown address.
func (g *Gateway) stranger(ctx context.Context, in []core.Inbound) error {
	for n, e := range in {
		known, err := g.People.Stranger(ctx, e)
		if err != nil {
			return err
		}
		if known {
			return g.receiveAll(ctx, in[n:])
		}
	}
	return nil
}

// inGroup explains once per room and reason why the assistant stays silent there.
func (g *Gateway) inGroup(ctx context.Context, e core.Inbound, now time.Time) error {
	w := say(g.Settings.Language)
	words := map[core.Silence]string{core.SilentOpen: w.OpenRoom, core.SilentPlain: w.PlainInSecret}[e.Silent]
	words = cmp.Or(words, w.Group)
	_, err := g.Store.Hold(ctx, store.Hold{Event: e, Now: now,
		Delivery: &core.NewDelivery{To: e.Address, Kind: core.DeliverNotice, Parts: g.parts(words, e.Address.Channel)}})
	return err
}

func (g *Gateway) fromUser(ctx context.Context, u core.User, i core.Identity, in []core.Inbound, now time.Time) error {
	switch e := in[0]; e.Kind {
	case core.InEdit:
		return g.edited(ctx, u, i, e, now)
	case core.InRedaction:
		return g.redacted(ctx, u, i, e, now)
	case core.InBlocked, core.InUnblocked:
		if _, err := g.Store.Hold(ctx, store.Hold{Event: e, Now: now}); err != nil {
			return err
		}
		return g.Store.SetBlocked(ctx, u.ID, i.ID, e.Kind == core.InBlocked, now)
	case core.InReaction:
		_, err := g.Store.Hold(ctx, store.Hold{Event: e, Now: now})
		return err
	case core.InReceipt:
		d, err := g.Store.Settle(ctx, u.ID, i.ID, e, now)
		if err == nil && d != nil {
			g.tellUndelivered(ctx, d, d.State)
		}
		return err
	case core.InMoved:
		return g.moved(ctx, i, e, now)
	case core.InByHand:
		return g.byHand(ctx, u, i, e, now)
	case core.InAsked:
		_, err := g.Store.Note(ctx, store.Note{User: u.ID, Identity: i.ID, Event: &e, Now: now, Window: g.window(e, now),
			Effects: []core.Effect{effect.Release{Identity: i.ID, At: now}}})
		return err
	case core.InStop:
		e.Text = "/stop"
		return g.command(ctx, u, i, e, now)
	}
	if g.answers(in[0]) {
		return g.command(ctx, u, i, in[0], now)
	}
	if commands(in[0]) && in[0].Group != nil {
		return g.command(ctx, u, i, in[0], now)
	}
	if commands(in[0]) {
		if moved, err := g.People.ClaimOwner(ctx, in[0], i); moved || err != nil {
			if err == nil {
				err = g.receiveRun(ctx, in)
			}
			return err
		}
		return g.command(ctx, u, i, in[0], now)
	}
	return g.append(ctx, u, i, in, appendOptions{}, now)
}

// appendOptions qualify the messages of an append.
type appendOptions struct {
	decides *core.Decision // the only message answers a question of an earlier turn
}

// append stores plain messages. It starts their turn immediately if the thread is idle, no
// debounce is configured and a slot is free.
func (g *Gateway) append(ctx context.Context, u core.User, i core.Identity, in []core.Inbound, s appendOptions,
	now time.Time) error {
	a := store.Append{User: u.ID, Identity: i.ID, Events: in, Now: now, RunAt: now.Add(g.Settings.Debounce),
		Paused: u.Settings.Paused, Budget: g.budget(u, now), Window: g.window(in[len(in)-1], now),
		Thread: in[0].Thread}
	for _, e := range in {
		m := g.newMessage(u, e, now)
		m.Decides, m.Solo = s.decides, m.Solo || s.decides != nil
		a.Messages = append(a.Messages, m)
		if m.Solo {
			a.RunAt = now
		}
	}
	g.hear(&a)
	slot := !a.Heard && g.Settings.Debounce == 0 && g.slot()
	if slot {
		c := g.Jobs.Claim()
		a.Claim = &c
	}
	out, err := g.Store.Append(ctx, a)
	if slot {
		g.uncertain(u.ID, err)
	}
	if slot && (err != nil || out.Turn == nil) {
		<-g.Slots
	}
	if err != nil {
		return err
	}
	if out.Duplicates > 0 {
		g.Log.Debug("repeated events dropped", zap.Int64("user", int64(u.ID)), zap.Int("count", out.Duplicates))
	}
	if out.Turn != nil {
		g.startTurn(out.Turn, u)
	}
	return g.tellPostponed(ctx, u, i, out.Postponed, now)
}

// window returns until when the sender of e may be written to; zero: always.
func (g *Gateway) window(e core.Inbound, now time.Time) time.Time {
	w := g.Channels.Capabilities(e.Address.Channel).Window
	if w == 0 {
		return time.Time{}
	}
	if e.SentAt.IsZero() || e.SentAt.After(now) {
		return now.Add(w)
	}
	return e.SentAt.Add(w)
}

// slot takes a slot for a turn, and reports whether one was free. Before Run, and in a
// process that takes no work, none is.
func (g *Gateway) slot() bool {
	select {
	case <-g.started:
	default:
		return false
	}
	if g.Share != nil && g.Share().N < 0 {
		return false
	}
	select {
	case g.Slots <- struct{}{}:
		return true
	default:
		return false
	}
}

// newMessage returns an inbound message as the transcript stores it.
func (g *Gateway) newMessage(u core.User, e core.Inbound, now time.Time) core.NewMessage {
	text := strings.ReplaceAll(strings.ToValidUTF8(e.Text, "\uFFFD"), "\x00", "")
	m := core.NewMessage{Role: core.RoleUser, Kind: core.KindChat, Text: text, Tokens: g.Tokens.Count(text),
		Attachments: e.Attachments, Quote: e.Quote, ForwardedFrom: e.ForwardedFrom, SentAt: e.SentAt,
		Solo: e.Solo, Request: e.Request, Tainted: e.Tainted || e.Program && !e.Own, Place: e.Address.Place, Speaker: speaker(e)}
	if g := e.Group; g != nil {
		m.Tainted = m.Tainted || g.Program
	}
	if e.ToolCallID != "" {
		m.Role, m.ToolCallID = core.RoleTool, e.ToolCallID
	}
	if e.SentAt.After(now.Add(maxAhead)) || e.SentAt.Before(now.Add(-maxBehind)) {
		m.SentAt, m.PlatformAt = now, e.SentAt
	}
	m.Day = g.Calendar.Day(u.Settings, m.SentAt)
	return m
}

// edited updates a message. An edit of an unknown message is stored as a new message under
// the original's event ID, so that the original is a duplicate should it still arrive.
func (g *Gateway) edited(ctx context.Context, u core.User, i core.Identity, e core.Inbound, now time.Time) error {
	old, _, err := g.Store.Quoted(ctx, u.ID, i.ID, e.Target)
	if err != nil && !errors.Is(err, core.ErrNotFound) {
		return err
	}
	for _, a := range old.Attachments { // what was heard is no change
		e.Text = a.Heard(e.Text)
	}
	m := g.newMessage(u, e, now)
	m.Asks = e.Group != nil && g.addressed(e)
	err = g.Store.Edit(ctx, u.ID, i.ID, e, m, now)
	if !errors.Is(err, core.ErrNotFound) {
		return err
	}
	e.Kind = core.InMessage
	e.EventID = cmp.Or(e.Edited, e.EventID)
	return g.append(ctx, u, i, []core.Inbound{e}, appendOptions{}, now)
}

func (g *Gateway) redacted(ctx context.Context, u core.User, i core.Identity, e core.Inbound, now time.Time) error {
	m, err := g.Store.Referred(ctx, u.ID, i.ID, e.Target)
	if errors.Is(err, core.ErrNotFound) {
		_, err := g.Store.Hold(ctx, store.Hold{Event: e, Now: now})
		return err
	}
	if err != nil {
		return err
	}
	e.Raw = nil
	n, err := g.Store.Note(ctx, store.Note{User: u.ID, Identity: i.ID, Event: &e,
		Effects: []core.Effect{effect.Redact{Message: m, At: now}}, Now: now})
	if err != nil {
		return err
	}
	return g.Files.Remove(n.Files)
}

// Act stores the changes that a person requested on a web page, all or none.
func (g *Gateway) Act(ctx context.Context, u core.UserID, effects ...core.Effect) (store.Noted, error) {
	out, err := g.Store.Note(ctx, store.Note{User: u, Effects: effects, Now: g.Now()})
	if err != nil {
		return out, err
	}
	return out, g.finishNote(ctx, out)
}

// Forget removes messages, everything derived from them, and their files; a single one also in the apps.
func (g *Gateway) Forget(ctx context.Context, u core.UserID, ids []core.MessageID) error {
	now := g.Now()
	var effects []core.Effect
	for _, id := range ids {
		effects = append(effects, effect.Redact{Message: id, At: now, Retract: len(ids) == 1})
	}
	_, err := g.Act(ctx, u, effects...)
	return err
}

// tellPostponed notifies an identity, once a day, that the budget is used up and until when.
func (g *Gateway) tellPostponed(ctx context.Context, u core.User, i core.Identity, p *store.Postponed,
	now time.Time) error {
	if p == nil || !p.Budget {
		return nil
	}
	until := p.Until.In(core.Settings{Zone: g.Calendar.Day(u.Settings, now).Zone}.Location(time.UTC))
	text := fmt.Sprintf(say(g.language(u.Settings)).Budget, until.Format("15:04"))
	n := store.Note{User: u.ID, Identity: i.ID, Once: "budget:" + g.Calendar.Day(u.Settings, now).Label, Now: now}
	n.Messages, n.Deliveries = g.notice(text, i, now)
	_, err := g.Store.Note(ctx, n)
	return err
}

// notice returns a text of the gateway itself as a message and its delivery to an identity.
func (g *Gateway) notice(text string, i core.Identity, now time.Time) ([]core.NewMessage, []core.NewDelivery) {
	return []core.NewMessage{{Role: core.RoleAssistant, Kind: core.KindNotice, Text: text, SentAt: now}},
		[]core.NewDelivery{{To: i.Address, Identity: i.ID, Kind: core.DeliverNotice, Parts: g.parts(text, i.Address.Channel)}}
}
