package prompt

import (
	"strings"

	"github.com/everthread/everthread/core"
)

// snapshot says by reference what l shows. Usage, latency, model and steps are
// the caller's to add.
func (b *builder) snapshot(l *layout, e *core.Epoch) core.Snapshot {
	s := core.Snapshot{Strategy: b.plan, Epoch: e.ID, Loaded: len(b.Window.Messages), ToolTokens: b.budgets.ToolSchemaTokens, Cap: b.cap}
	for i := range l.head {
		p := &l.head[i]
		s.Parts = append(s.Parts, core.PartTokens{Name: p.Name, Tokens: p.cost(), Error: p.Error})
		s.Total += p.cost()
		if p.Text == "" {
			continue
		}
		switch p.Name {
		case partToday:
			s.TodaySummary = true
		case partLoops:
			s.OpenLoops = len(p.Loops)
		case partLast:
			s.LastConversation = true
			s.Yesterday = p.Version > 0 && strings.HasPrefix(p.Text, yesterday)
		}
	}
	b.included(l, &s)
	if b.plan == Long {
		s.History = b.historyCount(l)
	}
	return s
}

func (b *builder) included(l *layout, s *core.Snapshot) {
	ids := make([]core.MessageID, 0, len(l.all))
	l.each(func(_ int, r *raw, _ bool) {
		ids = append(ids, r.ID)
		if n := l.cuts[r.ID]; n > 0 && n < r.text {
			s.Truncated++
		}
		if r.Revision > 0 {
			if s.Revisions == nil {
				s.Revisions = map[core.MessageID]int{}
			}
			s.Revisions[r.ID] = r.Revision
		}
	})
	s.Messages, s.Included = core.NewIDSet(ids...), len(ids)
	tokens := l.messagesCost()
	s.Parts = append(s.Parts, core.PartTokens{Name: partMessages, Tokens: tokens})
	s.Total += tokens
}
