package sqlstore

import (
	"maps"
	"slices"

	"github.com/everthread/everthread/core"
)

// changes reads the changes that the thread's prompt has not shown yet.
func changes(q querier, user core.UserID, w *core.Window) (err error) {
	w.Changes.Loops, err = loopsWhere(q, `changed > $2 ORDER BY changed DESC LIMIT 20`, user, w.Told)
	if err != nil {
		return err
	}
	if w.Changes.Themes, err = themesWhere(q, `AND changed > $2 ORDER BY changed DESC LIMIT 10`, user,
		w.Told); err != nil {
		return err
	}
	for _, h := range w.Epoch.Head {
		if h.Name != lastPart || h.Segment == 0 {
			continue
		}
		if w.Last, err = segmentByID(q, user, h.Segment); err != nil || w.Last.SummaryVersion <= h.Version {
			return err
		}
		w.LastSummary, err = summaryOf(q, w.Last)
	}
	return err
}

// lastPart is the name of the part of a head that shows the newest earlier day.
const lastPart = "last"

// keepNote stores the news of a turn's prompt with the message that they precede. If something
// they rest on was changed meanwhile, only the zone is kept.
func (t *tx) keepNote(n *core.TurnNews, st state) error {
	return t.alter(n.Message, func(m *core.Message) {
		if m.News = &n.News; n.Edits != st.edits {
			m.News = blankNews(m.News)
		}
	})
}

// alter changes the extra of a message, unless it is redacted.
func (t *tx) alter(id core.MessageID, change func(m *core.Message)) error {
	m, err := t.message(id)
	if err != nil || m.Redacted {
		return err
	}
	change(&m)
	return t.putExtra(m)
}

// blankNews returns news without its words.
func blankNews(n *core.News) *core.News { return &core.News{Zone: n.Zone} }

// redactNews blanks news about a loop made from a message, or about the summary of its day. A
// transaction lists all news once.
func (t *tx) redactNews(m core.Message, loops []core.LoopID) error {
	if t.notes == nil {
		got, err := list(t, scanMessage, `SELECT `+messageColumns+
			` FROM messages WHERE user_id = $1 AND extra <> '{}' AND extra LIKE '%"news":%'`, t.user)
		if err != nil {
			return err
		}
		t.notes = map[core.MessageID]core.News{}
		for _, n := range got {
			if n.News != nil && n.News.Text != "" {
				t.notes[n.ID] = *n.News
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(t.notes)) {
		n := t.notes[id]
		rests := n.Segment != 0 && n.Segment == m.Segment ||
			slices.ContainsFunc(n.Loops, func(l core.LoopID) bool { return slices.Contains(loops, l) })
		if !rests {
			continue
		}
		delete(t.notes, id)
		if err := t.alter(id, func(m *core.Message) { m.News = blankNews(&n) }); err != nil {
			return err
		}
	}
	return nil
}
