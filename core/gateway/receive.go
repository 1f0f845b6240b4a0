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
)

// How far a platform's clock is believed.
const (
	maxAhead  = 5 * time.Minute
	maxBehind = 7 * 24 * time.Hour
)

// Receive stores inbound events; see core.Receiver. Those of one address keep
// their order, different addresses are independent.
func (g *Gateway) Receive(ctx context.Context, in ...core.Inbound) error {
	if len(in) == 1 {
		return g.receiveAll(ctx, in)
	}
	var group errgroup.Group // one that fails stops no other
	group.SetLimit(8)
	for _, batch := range byAddress(in) {
		group.Go(func() error { return g.receiveAll(ctx, batch) })
	}
	return group.Wait()
}

// byAddress groups events by address, each group in order.
func byAddress(in []core.Inbound) [][]core.Inbound {
	var out [][]core.Inbound
	index := map[core.Address]int{}
	for _, e := range in {
		n, ok := index[e.Address]
		if !ok {
			n = len(out)
			index[e.Address] = n
			out = append(out, nil)
		}
		out[n] = append(out[n], e)
	}
	return out
}

// receiveAll stores the events of one address; runs of plain messages together.
func (g *Gateway) receiveAll(ctx context.Context, in []core.Inbound) error {
	g.Crash.At("received")
	for len(in) > 0 {
		n := 1
		if g.plain(in[0]) {
			for n < len(in) && g.plain(in[n]) && in[n].Thread == in[0].Thread {
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

// plain reports whether an event is a message that is neither a command nor an answer.
func (g *Gateway) plain(in core.Inbound) bool {
	return in.Kind == core.InMessage && !commands(in) && !g.answers(in)
}

// answers reports whether an event may answer a question of ours. What a program
// sends never does.
func (g *Gateway) answers(in core.Inbound) bool {
	return in.ToolCallID == "" && !in.Program && in.ForwardedFrom == "" && len(in.Attachments) == 0 &&
		g.Commands.Answers(in.Text)
}

// commands reports whether an event is a command. The result of a tool never is,
// and what a program sends only if the program says so.
func commands(in core.Inbound) bool {
	return in.ToolCallID == "" && (!in.Program || in.Command) && isCommand(in.Text)
}

func isCommand(text string) bool {
	t := strings.TrimSpace(text)
	return len(t) > 1 && (t[0] == '/' || t[0] == '!')
}

func (g *Gateway) receiveRun(ctx context.Context, in []core.Inbound) error {
	now := g.Now()
	g.Meter.Count("everthread_messages_total", float64(len(in)), "in", in[0].Address.Channel)
	switch in[0].Kind {
	case core.InUnsupported:
		_, err := g.Store.Hold(ctx, core.Hold{Event: in[0], Now: now})
		g.Log.Info("event kept raw", zap.String("channel", in[0].Address.Channel), zap.String("event", in[0].EventID))
		return err
	case core.InGroup:
		return g.inGroup(ctx, in[0], now)
	}
	if i, u, as, ok := g.known(in[0]); ok {
		if err := g.append(ctx, u, i, in, said{as: as}, now); !errors.Is(err, core.ErrChanged) {
			return g.waiting(ctx, err, in, now)
		}
	}
	i, u, err := g.identify(ctx, in[0])
	if errors.Is(err, core.ErrNotFound) {
		return g.stranger(ctx, in)
	}
	if err != nil {
		return err
	}
	return g.waiting(ctx, g.fromUser(ctx, u, i, in, now), in, now)
}

// known returns who a plain message is of, as this process saw them last: what stores it
// looks whether they still are.
func (g *Gateway) known(e core.Inbound) (i core.Identity, u core.User, as string, ok bool) {
	if !g.plain(e) {
		return i, u, "", false
	}
	i, u, as, ok = g.Store.Known(e.Address)
	return i, u, as, ok && (len(e.Aliases) == 0 || slices.Equal(i.Aliases, e.Aliases))
}

// identify returns who an event is of. A person who is known by another of their
// addresses is known by this one from now on.
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
	if err != nil || i.Address == e.Address && (len(e.Aliases) == 0 || slices.Equal(i.Aliases, e.Aliases)) {
		return i, u, err
	}
	err = g.Store.Readdress(ctx, i, e.Address.External, e.Aliases)
	i.Address, i.Aliases = e.Address, e.Aliases
	return i, u, err
}

// moved follows a person to another address of the same channel.
func (g *Gateway) moved(ctx context.Context, i core.Identity, e core.Inbound, now time.Time) error {
	err := g.Store.Readdress(ctx, i, e.Target, e.Aliases)
	if errors.Is(err, core.ErrExists) {
		g.Log.Warn("a person moved to an address that is somebody's already", zap.Int64("user", int64(i.User)),
			zap.String("channel", i.Address.Channel))
		err = nil
	}
	if err != nil {
		return err
	}
	_, err = g.Store.Hold(ctx, core.Hold{Event: e, Now: now})
	return err
}

// byHand stores what somebody wrote to a person as us: it is said, not answered.
func (g *Gateway) byHand(ctx context.Context, u core.User, i core.Identity, e core.Inbound, now time.Time) error {
	m := g.newMessage(u, e, now)
	m.Role = core.RoleAssistant
	_, err := g.Store.Note(ctx, core.Note{User: u.ID, Identity: i.ID, Event: &e, Messages: []core.NewMessage{m}, Now: now})
	return err
}

// stranger has somebody decide about messages of an unknown address.
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

// inGroup says once why the assistant stays silent in a group.
func (g *Gateway) inGroup(ctx context.Context, e core.Inbound, now time.Time) error {
	words := say(g.Settings.Language).Group
	_, err := g.Store.Hold(ctx, core.Hold{Event: e, Now: now,
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
		if _, err := g.Store.Hold(ctx, core.Hold{Event: e, Now: now}); err != nil {
			return err
		}
		return g.Store.SetBlocked(ctx, u.ID, i.ID, e.Kind == core.InBlocked, now)
	case core.InReaction:
		_, err := g.Store.Hold(ctx, core.Hold{Event: e, Now: now})
		return err
	case core.InReceipt:
		return g.Store.Settle(ctx, u.ID, i.ID, e, now)
	case core.InMoved:
		return g.moved(ctx, i, e, now)
	case core.InByHand:
		return g.byHand(ctx, u, i, e, now)
	case core.InAsked:
		_, err := g.Store.Note(ctx, core.Note{User: u.ID, Identity: i.ID, Event: &e, Now: now, Window: g.window(e, now),
			Effects: []core.Effect{core.Release{Identity: i.ID, At: now}}})
		return err
	case core.InStop:
		e.Text = "/stop"
		return g.command(ctx, u, i, e, now)
	}
	if g.answers(in[0]) {
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
	return g.append(ctx, u, i, in, said{}, now)
}

// said is what is known of messages beside themselves.
type said struct {
	decides *core.Decision // the only one of them answers a question of an earlier turn
	as      string         // core.Append's
}

// append stores plain messages and, if the thread is idle and nothing more is to
// be waited for, starts their turn at once.
func (g *Gateway) append(ctx context.Context, u core.User, i core.Identity, in []core.Inbound, s said,
	now time.Time) error {
	a := core.Append{User: u.ID, Identity: i.ID, Events: in, Now: now, RunAt: now.Add(g.Settings.Debounce),
		Paused: u.Settings.Paused, Budget: g.budget(u.Settings, now), Window: g.window(in[len(in)-1], now),
		Thread: in[0].Thread, As: s.as}
	for _, e := range in {
		m := g.newMessage(u, e, now)
		m.Decides, m.Solo = s.decides, m.Solo || s.decides != nil
		a.Messages = append(a.Messages, m)
		if m.Solo {
			a.RunAt = now
		}
	}
	slot := g.Settings.Debounce == 0 && g.slot()
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

// window is until when a person may be written to who wrote e; zero: always.
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

// slot takes a place among the running turns, if one is free and work goes on.
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

// newMessage is an inbound message as the transcript keeps it.
func (g *Gateway) newMessage(u core.User, e core.Inbound, now time.Time) core.NewMessage {
	text := strings.ReplaceAll(strings.ToValidUTF8(e.Text, "\uFFFD"), "\x00", "")
	m := core.NewMessage{Role: core.RoleUser, Kind: core.KindChat, Text: text, Tokens: g.Tokens.Count(text),
		Attachments: e.Attachments, Quote: e.Quote, ForwardedFrom: e.ForwardedFrom, SentAt: e.SentAt,
		Solo: e.Solo, Request: e.Request}
	if e.ToolCallID != "" {
		m.Role, m.ToolCallID = core.RoleTool, e.ToolCallID
	}
	if e.SentAt.After(now.Add(maxAhead)) || e.SentAt.Before(now.Add(-maxBehind)) {
		m.SentAt, m.PlatformAt = now, e.SentAt
	}
	m.Day = g.Calendar.Day(u.Settings, m.SentAt)
	return m
}

// edited updates a message. An edit of one that was never seen is a new message,
// and takes the place of the first text should that still come.
func (g *Gateway) edited(ctx context.Context, u core.User, i core.Identity, e core.Inbound, now time.Time) error {
	err := g.Store.Edit(ctx, u.ID, i.ID, e, g.newMessage(u, e, now), now)
	if !errors.Is(err, core.ErrNotFound) {
		return err
	}
	e.Kind = core.InMessage
	e.EventID = cmp.Or(e.Edited, e.EventID)
	return g.append(ctx, u, i, []core.Inbound{e}, said{}, now)
}

func (g *Gateway) redacted(ctx context.Context, u core.User, i core.Identity, e core.Inbound, now time.Time) error {
	m, err := g.Store.Referred(ctx, u.ID, i.ID, e.Target)
	if errors.Is(err, core.ErrNotFound) {
		_, err := g.Store.Hold(ctx, core.Hold{Event: e, Now: now})
		return err
	}
	if err != nil {
		return err
	}
	e.Raw = nil
	n, err := g.Store.Note(ctx, core.Note{User: u.ID, Identity: i.ID, Event: &e,
		Effects: []core.Effect{core.Redact{Message: m, At: now}}, Now: now})
	if err != nil {
		return err
	}
	return g.Files.Remove(n.Files)
}

// Act makes changes that a person asked for on a page of ours, all or none.
func (g *Gateway) Act(ctx context.Context, u core.UserID, effects ...core.Effect) (core.Noted, error) {
	out, err := g.Store.Note(ctx, core.Note{User: u, Effects: effects, Now: g.Now()})
	if err != nil {
		return out, err
	}
	if err := g.Receive(ctx, out.Released...); err != nil {
		g.Log.Warn("held messages wait for the scheduler", zap.Error(err))
	}
	return out, g.Files.Remove(out.Files)
}

// Forget removes messages and everything made from them, with their
// files.
func (g *Gateway) Forget(ctx context.Context, u core.UserID, ids []core.MessageID) error {
	now := g.Now()
	var effects []core.Effect
	for _, id := range ids {
		effects = append(effects, core.Redact{Message: id, At: now})
	}
	_, err := g.Act(ctx, u, effects...)
	return err
}

// tellPostponed says once a day that the budget is used up, and until when.
func (g *Gateway) tellPostponed(ctx context.Context, u core.User, i core.Identity, p *core.Postponed,
	now time.Time) error {
	if p == nil || !p.Budget {
		return nil
	}
	until := p.Until.In(core.Settings{Zone: g.Calendar.Day(u.Settings, now).Zone}.Location(time.UTC))
	text := fmt.Sprintf(say(g.language(u.Settings)).Budget, until.Format("15:04"))
	n := core.Note{User: u.ID, Identity: i.ID, Once: "budget:" + g.Calendar.Day(u.Settings, now).Label, Now: now}
	n.Messages, n.Deliveries = g.notice(text, i, now)
	_, err := g.Store.Note(ctx, n)
	return err
}

// notice is words of the gateway itself on their way to an identity.
func (g *Gateway) notice(text string, i core.Identity, now time.Time) ([]core.NewMessage, []core.NewDelivery) {
	return []core.NewMessage{{Role: core.RoleAssistant, Kind: core.KindNotice, Text: text, SentAt: now}},
		[]core.NewDelivery{{To: i.Address, Identity: i.ID, Kind: core.DeliverNotice, Parts: g.parts(text, i.Address.Channel)}}
}
