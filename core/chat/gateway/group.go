package gateway

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"
	"unicode"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/text"
	"github.com/everthread/everthread/core/trust"
)

// Groups say how the assistant takes part in group chats. The zero value: it is silent there.
type Groups struct {
	Enabled   bool
	AnswerAll bool // it answers every message, not only those that address it
	Mentions  bool // it keeps only messages that address it
}

// fromGroup receives events of a group chat, a user of its own. Where groups are off, and in a chat of a person that
// became a group, nothing is stored.
func (g *Gateway) fromGroup(ctx context.Context, in []core.Inbound, now time.Time) error {
	e := in[0]
	i, u, err := g.identify(ctx, e)
	switch {
	case err != nil && !errors.Is(err, core.ErrNotFound):
		return err
	case !g.Settings.Groups.Enabled || err == nil && !u.Group():
		return g.silent(ctx, e, now)
	case err != nil:
		return g.newGroup(ctx, in)
	}
	if err := g.rename(ctx, u, e, now); err != nil {
		return err
	}
	i.Address.Place = e.Address.Place
	switch e.Kind {
	case core.InUnsupported:
		return nil
	case core.InGroup: // it was added again
		e.Kind = core.InUnblocked
		return g.fromUser(ctx, u, i, []core.Inbound{e}, now)
	case core.InMessage:
		if in = g.heard(in); len(in) == 0 {
			return nil
		}
	case core.InEdit, core.InRedaction:
		if own, err := g.ownWords(ctx, u, i, e); err != nil || !own {
			return err
		}
		if e.Kind == core.InEdit && len(g.heard(in)) == 0 {
			return nil
		}
	}
	for n := range in {
		if err := g.quote(ctx, u, i, in[n].Quote); err != nil {
			return err
		}
	}
	return g.fromUser(ctx, u, i, in, now)
}

// rename gives a group the title that an event tells. Some events in a topic tell the title of the whole forum alone.
func (g *Gateway) rename(ctx context.Context, u core.User, e core.Inbound, now time.Time) error {
	title := trust.Line(e.Group.Title)
	if title == "" || title == u.Name || strings.HasPrefix(u.Name, title+core.TopicMark) {
		return nil
	}
	ctx = core.WithActor(ctx, core.Actor{Via: core.ViaGateway, At: now})
	_, err := g.Store.Note(ctx, store.Note{User: u.ID, Effects: []core.Effect{effect.SetName{Name: title}}, Now: now})
	return err
}

// arrival is an event of a group that waits while earlier ones are stored.
type arrival struct {
	event core.Inbound
	done  chan error
}

const (
	gatherMost = 100              // events that are stored at once
	gatherFor  = 20 * time.Second // at most
)

// gather receives an event of a group. Those that arrive while others of the group are being stored are stored together:
// each alone, they would wait for each other's commits.
func (g *Gateway) gather(ctx context.Context, e core.Inbound) error {
	chat, a := e.Address.Chat(), arrival{e, make(chan error, 1)}
	g.mu.Lock()
	waiting, busy := g.arriving[chat]
	g.arriving[chat] = append(waiting, a)
	g.mu.Unlock()
	if !busy {
		go g.storeGathered(context.WithoutCancel(ctx), chat)
	}
	select {
	case err := <-a.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// storeGathered stores the events of a group that wait, until none does.
func (g *Gateway) storeGathered(ctx context.Context, chat core.Address) {
	for {
		g.mu.Lock()
		all := g.arriving[chat]
		if len(all) == 0 {
			delete(g.arriving, chat)
			g.mu.Unlock()
			return
		}
		next := all[:min(len(all), gatherMost)]
		g.arriving[chat] = all[len(next):]
		g.mu.Unlock()
		g.storeTogether(ctx, next)
	}
}

// storeTogether stores events of a group, and each by itself if that fails: they belong to different callers.
func (g *Gateway) storeTogether(ctx context.Context, all []arrival) {
	ctx, cancel := context.WithTimeout(ctx, gatherFor)
	defer cancel()
	events := make([]core.Inbound, len(all))
	for n, a := range all {
		events[n] = a.event
	}
	err := g.receiveAll(ctx, events)
	for _, a := range all {
		if err != nil && len(all) > 1 {
			a.done <- g.receiveAll(ctx, []core.Inbound{a.event})
			continue
		}
		a.done <- err
	}
}

// newGroup has People decide about a group that nobody approved yet. What is said there is not kept.
func (g *Gateway) newGroup(ctx context.Context, in []core.Inbound) error {
	for n, e := range in {
		asks := e.Kind == core.InGroup || e.Kind == core.InMessage && (g.addressed(e) || commands(e))
		if !asks {
			continue
		}
		known, err := g.People.Group(ctx, e)
		if err != nil {
			return err
		}
		if known {
			return g.receiveAll(ctx, in[n:])
		}
	}
	return nil
}

// silent explains in a group without answers, when the assistant is added and on /help, that it has none.
func (g *Gateway) silent(ctx context.Context, e core.Inbound, now time.Time) error {
	word, _, _ := strings.Cut(e.Text, " ")
	if e.Kind != core.InGroup && (e.Kind != core.InMessage || word != "/help" && word != "!help") {
		return nil
	}
	e.Text, e.Raw, e.Attachments, e.Quote = "", nil, nil, nil
	return g.inGroup(ctx, e, now)
}

// ownWords reports whether the message that an event changes may be changed by its writer: it is their own, or is not known.
func (g *Gateway) ownWords(ctx context.Context, u core.User, i core.Identity, e core.Inbound) (bool, error) {
	m, _, err := g.Store.Quoted(ctx, u.ID, i.ID, e.Target)
	if errors.Is(err, core.ErrNotFound) {
		return true, nil
	}
	if err != nil || m.Speaker == nil {
		return false, err
	}
	number, _, err := g.Store.Speaker(ctx, u.ID, e.Group.Speaker)
	if errors.Is(err, core.ErrNotFound) {
		err = nil
	}
	return err == nil && number == m.Speaker.Number, err
}

// heard returns the events of a group that are kept.
func (g *Gateway) heard(in []core.Inbound) (out []core.Inbound) {
	for _, e := range in {
		if !g.Settings.Groups.Mentions || g.addressed(e) || commands(e) {
			out = append(out, e)
		}
	}
	return out
}

// addressed reports whether an event is to be answered. In a direct chat every one is; in a group those of people who
// address the assistant.
func (g *Gateway) addressed(e core.Inbound) bool {
	if e.Group == nil {
		return true
	}
	return !e.Group.Program && e.ForwardedFrom == "" && (e.Group.Addressed || g.Settings.Groups.AnswerAll)
}

// speakerName bounds the name of a member of a group, in characters.
const speakerName = 64

// speaker returns who wrote an event of a group; nil: the event is of a direct chat.
func speaker(e core.Inbound) *core.Speaker {
	if e.Group == nil {
		return nil
	}
	name := text.Within(trust.Line(seen(strings.ToValidUTF8(e.Name, ""))), speakerName)
	return &core.Speaker{Name: cmp.Or(name, "?"), Key: e.Group.Speaker, Native: e.NativeID}
}

// seen returns a name without characters that nobody sees, by which it could look like another. Scripts and pictures that
// are joined by such characters keep them.
func seen(name string) string {
	last := rune(0)
	return strings.Map(func(r rune) rune {
		joins := (r == '\u200c' || r == '\u200d') && last > '\u024f'
		if unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Bidi_Control, r) && !joins {
			return -1
		}
		last = r
		return r
	}, name)
}

// replyTo makes the first part of each delivery a reply to a message of a group.
func replyTo(native string, ds []core.NewDelivery) {
	for n := range ds {
		if native != "" && len(ds[n].Parts) > 0 {
			ds[n].Parts[0].Reply = native
		}
	}
}

// hear makes an Append store what nobody is to answer: it gets its place in the thread at once.
func (g *Gateway) hear(a *store.Append) {
	a.Heard = len(a.Events) > 0 && !g.addressed(a.Events[len(a.Events)-1])
}
