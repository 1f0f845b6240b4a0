package prompt

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

// snapshot describes the contents of l by reference. The caller adds usage, latency, model and steps.
func (b *builder) snapshot(l *layout, e *store.Epoch) store.Snapshot {
	s := store.Snapshot{Strategy: b.plan, Epoch: e.ID, Thread: b.inThread(l), Loaded: len(l.all),
		ToolTokens: b.budgets.ToolSchemaTokens, Cap: b.cap}
	costs := l.head.costs()
	for i := range l.head {
		p := &l.head[i]
		s.Parts = append(s.Parts, store.PartTokens{Name: p.Name, Tokens: costs[i], Error: p.Error})
		s.Total += costs[i]
		if p.Text == "" {
			continue
		}
		switch p.Name {
		case partToday:
			s.TodaySummary = true
		case partLoops:
			s.OpenLoops = len(p.Loops)
		case partLast:
			s.LastConversation = p.Error == ""
			s.Yesterday = p.Version > 0 && strings.HasPrefix(p.Text, yesterday)
		}
	}
	for _, name := range []string{"sent", "news"} {
		if err := b.Window.Failed[name]; err != "" {
			s.Parts = append(s.Parts, store.PartTokens{Name: name, Error: err})
		}
	}
	b.included(l, &s)
	if b.plan == Long {
		s.History = b.historyCount(l, e)
	}
	return s
}

// inThread counts the messages of the thread: those when the epoch began, and those since.
func (b *builder) inThread(l *layout) int {
	e := b.Window.Epoch
	if b.Window.Thread > 0 || e == nil {
		return b.Window.Thread
	}
	n := e.Thread
	for i := range l.all {
		r := &l.all[i]
		if r.said() && (r.Turn > e.ID || r.Role == core.RoleAssistant && r.Turn == e.ID) {
			n++
		}
	}
	return n
}

// said reports whether r is a message of the user or an answer of the assistant.
func (r *raw) said() bool {
	return r.Role == core.RoleUser || r.Role == core.RoleAssistant && strings.TrimSpace(r.Text) != ""
}

// dropped counts the messages that are not shown although no summary covers them.
func (b *builder) dropped(l *layout) int {
	n := b.Window.UncoveredBefore
	for i := range l.all {
		if r := &l.all[i]; !l.kept(i) && !r.Covered && r.said() {
			n++
		}
	}
	return n
}

func (b *builder) included(l *layout, s *store.Snapshot) {
	ids, said := make([]core.MessageID, 0, len(l.all)), 0
	l.each(func(_ int, r *raw, _ bool) {
		ids = append(ids, r.ID)
		if n := l.cuts[r.ID]; n > 0 && n < r.text {
			s.Shortened++
		}
		if r.said() {
			said++
		}
		if r.Revision > 0 {
			if s.Revisions == nil {
				s.Revisions = map[core.MessageID]int{}
			}
			s.Revisions[r.ID] = r.Revision
		}
	})
	s.Messages, s.Included = core.NewIDSet(ids...), len(ids)
	s.Truncated = max(s.Thread-said, 0)
	if s.Dropped = b.dropped(l); b.Turn.Segment == 0 { // no summary covers anything of a plain thread
		s.Dropped = s.Truncated
	}
	s.LeftOut = max(s.Truncated-s.Dropped, 0)
	tokens := l.messagesCost()
	s.Parts = append(s.Parts, store.PartTokens{Name: partMessages, Tokens: tokens})
	s.Total += tokens
}

const editedMark = "[edited since] "

// Rebuild returns the prompt of an earlier turn, exactly as it was sent, from its epoch, its
// snapshot, and the messages and pages that these name. Messages redacted since are blank;
// messages edited since have their current text, with a mark; missing pages are counted.
func Rebuild(e store.Epoch, s store.Snapshot, ms []core.Message, pages []store.Page, b Budgets,
	t core.Tokenizer) []core.ModelMessage {
	l := layoutOf(&e, viewOf(&e, time.UTC, b.orDefault(), t), pages)
	ms = slices.DeleteFunc(slices.Clone(ms), func(m core.Message) bool { return !s.Messages.Has(m.ID) })
	slices.SortStableFunc(ms, func(x, y core.Message) int {
		return cmp.Or(cmp.Compare(x.Position, y.Position), cmp.Compare(x.ID, y.ID))
	})
	l.all = l.usable(ms, nil, true)
	for i := range l.all {
		l.all[i].markChanges(s.Revisions)
	}
	out, _, _ := l.render()
	if len(l.all) == 0 {
		return out
	}
	return instruct(out, l.all[len(l.all)-1].Request)
}

// markChanges blanks a message that was redacted since the turn, and marks an edited one.
func (r *raw) markChanges(revisions map[core.MessageID]int) {
	if r.Redacted {
		blank := *r.Message
		blank.Text = ""
		r.Message, r.before, r.after, r.text = &blank, "", "", 0
		r.calls = bare(r.calls)
		return
	}
	if r.Revision != revisions[r.ID] {
		r.before = editedMark + r.before
	}
}
