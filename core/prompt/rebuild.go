package prompt

import (
	"cmp"
	"slices"
	"time"

	"github.com/everthread/everthread/core"
)

const editedMark = "[edited since] "

// Rebuild returns the prompt of an earlier turn, exactly as it was sent, from its
// epoch, its snapshot, the messages that the snapshot names and the pages that the
// epoch names. What was redacted since is blank; what was edited since is shown as
// it is now, and marked; of pages that are gone it says how many.
func Rebuild(e core.Epoch, s core.Snapshot, ms []core.Message, pages []core.Page, b Budgets,
	t core.Tokenizer) []core.ModelMessage {
	zone := zoneOf(e.Zone, time.UTC)
	v := view{epoch: e.ID, nonce: e.Nonce, zone: zone, year: e.StartedAt.In(zone).Year(), pause: b.orDefault().PauseMark,
		tokens: t}
	l := layout{view: v, cuts: e.Cuts, truncated: e.Truncated, names: e.Strategy == Long, gap: e.Strategy == Truncate &&
		len(e.Skip) > 0}
	l.head = l.headOf(&e, pages)
	l.all = l.usable(then(s, ms), nil, true)
	for i := range l.all {
		l.all[i].since(s.Revisions)
	}
	out, _, _ := l.render()
	return instruct(out, asked(l.all))
}

// asked is what the client wanted that asked last.
func asked(rs []raw) *core.Request {
	if len(rs) == 0 {
		return nil
	}
	return rs[len(rs)-1].Request
}

// then returns the messages of a snapshot in the order of the prompt.
func then(s core.Snapshot, ms []core.Message) []core.Message {
	ms = slices.DeleteFunc(slices.Clone(ms), func(m core.Message) bool { return !s.Messages.Has(m.ID) })
	slices.SortStableFunc(ms, func(x, y core.Message) int {
		return cmp.Or(cmp.Compare(x.Position, y.Position), cmp.Compare(x.ID, y.ID))
	})
	return ms
}

// since blanks or marks what has changed since the turn.
func (r *raw) since(revisions map[core.MessageID]int) {
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
