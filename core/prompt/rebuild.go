package prompt

import (
	"cmp"
	"slices"
	"time"

	"github.com/everthread/everthread/core"
)

const editedMark = "[edited since] "

// Rebuild returns the prompt of an earlier turn, exactly as it was sent, from its epoch, its
// snapshot, and the messages and pages that these name. Messages redacted since are blank;
// messages edited since have their current text, with a mark; missing pages are counted.
func Rebuild(e core.Epoch, s core.Snapshot, ms []core.Message, pages []core.Page, b Budgets,
	t core.Tokenizer) []core.ModelMessage {
	l := layoutOf(&e, viewOf(&e, time.UTC, b.orDefault(), t), pages)
	l.all = l.usable(inOrder(s, ms), nil, true)
	for i := range l.all {
		l.all[i].markChanges(s.Revisions)
	}
	out, _, _ := l.render()
	if len(l.all) == 0 {
		return out
	}
	return instruct(out, l.all[len(l.all)-1].Request)
}

// inOrder returns the messages of a snapshot in the order of the prompt.
func inOrder(s core.Snapshot, ms []core.Message) []core.Message {
	ms = slices.DeleteFunc(slices.Clone(ms), func(m core.Message) bool { return !s.Messages.Has(m.ID) })
	slices.SortStableFunc(ms, func(x, y core.Message) int {
		return cmp.Or(cmp.Compare(x.Position, y.Position), cmp.Compare(x.ID, y.ID))
	})
	return ms
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
