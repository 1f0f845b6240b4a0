package prompt

import (
	"errors"
	"slices"
	"strings"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

// errFull means that the epoch's prompt would exceed the cap, or the number of messages.
var errFull = errors.New("the epoch is full")

// layout determines the bytes of a prompt.
type layout struct {
	view
	head      head
	all       []raw
	keep      []bool // of all; nil: every one
	cuts      map[core.MessageID]int
	truncated bool // the mark of truncation precedes the raw messages
	names     bool // the mark names the first raw message
	gap       bool // the mark follows the first message (and its results) instead
}

// layoutOf returns the layout of an existing epoch, without messages.
func layoutOf(e *store.Epoch, v view, pages []store.Page) layout {
	return layout{view: v, head: v.headOf(e, pages), cuts: e.Cuts, truncated: e.Truncated,
		names: e.Strategy == Long, gap: e.Strategy == Truncate && (e.Opener != 0 || len(e.Skip) > 0)}
}

// opened returns messages behind the thread's first one, if it is not among them.
func (b *builder) opened(ms []core.Message) []core.Message {
	if first := b.Window.Opener; first != nil {
		ms = slices.Concat([]core.Message{*first}, ms)
	}
	return ms
}

func (l *layout) kept(i int) bool { return l.keep == nil || l.keep[i] }

// each calls visit with the kept messages in order, and whether they get a time mark.
func (l *layout) each(visit func(i int, r *raw, marked bool)) {
	var c clock
	for i := range l.all {
		if l.kept(i) {
			visit(i, &l.all[i], c.marks(&l.all[i], l.pause))
		}
	}
}

func (l *layout) messagesCost() int {
	total := 0
	l.each(func(_ int, r *raw, marked bool) {
		total += r.cost(l.cuts[r.ID])
		if marked {
			total += l.time(r)
		}
	})
	if l.truncated {
		total += l.tokens.Count(l.mark()) + perMessage
	}
	return total
}

// mark returns the mark of truncation.
func (l *layout) mark() string {
	for i := range l.all {
		if l.names && l.kept(i) {
			return leftOut(l.all[i].ID)
		}
	}
	return truncated
}

func (l *layout) cost() int { return l.head.cost() + l.messagesCost() }

// render returns the prompt's messages, their sources, and which of them contain foreign words.
func (l *layout) render() ([]core.ModelMessage, []core.MessageID, []bool) {
	ms := make([]core.ModelMessage, 0, len(l.head)+len(l.all)+1)
	from := make([]core.MessageID, 0, cap(ms))
	foreign := make([]bool, 0, cap(ms))
	add := func(m core.ModelMessage, id core.MessageID, tainted bool) {
		ms, from, foreign = append(ms, m), append(from, id), append(foreign, tainted)
	}
	head, tainted := l.head.render(l.nonce)
	for i, m := range head {
		add(m, 0, tainted[i])
	}
	at := l.markAt()
	l.each(func(i int, r *raw, marked bool) {
		if i == at {
			add(core.ModelMessage{Role: core.RoleUser, Content: l.mark()}, 0, false)
		}
		if r.note != "" {
			add(core.ModelMessage{Role: core.RoleUser, Content: r.note}, 0, r.News.Tainted)
		}
		add(l.show(r, l.cuts[r.ID], marked), r.ID, r.Foreign() || l.echoes(r))
	})
	return ms, from, foreign
}

// echoes reports whether a message quotes words of the assistant that may be foreign.
func (l *layout) echoes(r *raw) bool {
	if r.Quote == nil || !r.Quote.Mine || strings.TrimSpace(r.Quote.Text) == "" {
		return false
	}
	return !slices.ContainsFunc(l.all, func(o raw) bool {
		return o.Role == core.RoleAssistant && !o.Foreign() && strings.Contains(o.Text, r.Quote.Text)
	})
}

// markAt returns the index of the message that the mark precedes, or -1.
func (l *layout) markAt() int {
	first := -1
	for i := range l.all {
		switch {
		case !l.truncated || !l.kept(i):
		case !l.gap:
			return i
		case first < 0:
			first = i
		case l.all[i].group != l.all[first].group:
			return i
		}
	}
	return first
}

// resume continues the window's epoch, or fails with errFull.
func (b *builder) resume() (Prompt, error) {
	e := b.Window.Epoch
	l := layoutOf(e, b.view(e), b.Window.Pages)
	ms := b.Window.Messages
	for len(ms) > 0 && ms[0].Position < e.Start {
		ms = ms[1:]
	}
	news, told := b.news(e, ms)
	if e.Opener != 0 {
		if b.Window.Opener == nil {
			return Prompt{}, errFull
		}
		ms = b.opened(ms)
	}
	l.all = l.usable(withNews(ms, news), b.Turn.Inputs, false)
	l.hide(e.Skip)
	if len(l.all) == 0 {
		return Prompt{}, ErrNoInput
	}
	total := l.cost()
	if total > b.cap || b.compressed(e, total) || b.plan == Truncate &&
		len(l.all)-len(e.Skip) > b.budgets.MaxHistoryMessages {
		return Prompt{}, errFull
	}
	p := b.finish(&l, e, "")
	p.News, p.Told = news, told
	return p, nil
}

func (l *layout) hide(ids []core.MessageID) {
	if len(ids) == 0 {
		return
	}
	skip := make(map[core.MessageID]bool, len(ids))
	for _, id := range ids {
		skip[id] = true
	}
	l.keep = make([]bool, len(l.all))
	for i := range l.all {
		l.keep[i] = !skip[l.all[i].ID]
	}
}

// begin starts an epoch with the window's messages.
func (b *builder) begin(reason string) (Prompt, error) {
	b.nonce = b.Nonce()
	e := &store.Epoch{ID: b.Turn.ID, Nonce: b.nonce, StartedAt: b.Now, UsedAt: b.Now, Edits: b.Window.Edits,
		Compressed: b.Window.Compressed, Zone: b.Zone.String(), Strategy: b.plan,
		Budgets: b.budgets.Fingerprint(b.plan, b.Static)}
	l := layout{view: b.view(e), cuts: map[core.MessageID]int{}, names: b.plan == Long}
	news := b.unasked(e)
	l.all = l.usable(withNews(b.opened(b.Window.Messages), news), b.Turn.Inputs, false)
	if len(l.all) == 0 {
		return Prompt{}, ErrNoInput
	}
	c := b.newChoice(&l)
	c.choose()
	c.addDays()
	if err := c.fit(); err != nil {
		return Prompt{}, err
	}
	c.fix(e)
	p := b.finish(&l, e, reason)
	if e.Thread = p.Snapshot.Thread; b.Turn.Segment != 0 {
		e.Dropped = p.Snapshot.Dropped
	}
	if h := p.Snapshot.History; h != nil {
		e.PagesOut = h.LeftOut
	}
	p.Epoch, p.News = e, news
	if len(b.Window.Failed) == 0 {
		p.Told = b.Window.News
	}
	return p, nil
}

func (b *builder) view(e *store.Epoch) view { return viewOf(e, b.Zone, b.budgets, b.Tokens) }
