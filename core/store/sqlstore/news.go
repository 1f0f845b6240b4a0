package sqlstore

import (
	"maps"
	"slices"

	"github.com/everthread/everthread/core"
)

// changes reads what changed since the thread's prompt told of it last.
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

// keepNote stores the news that a turn's prompt told, with the message that they
// stood before. Of those that rest on something that was changed meanwhile only
// the zone is kept.
func (t *tx) keepNote(n *core.TurnNews, st state) error {
	return t.alter(n.Message, func(m *core.Message) {
		if m.News = &n.News; n.Edits != st.edits {
			m.News = blankNews(m.News)
		}
	})
}

// alter changes what no query looks into of a message that is not redacted.
func (t *tx) alter(id core.MessageID, change func(m *core.Message)) error {
	m, err := scanMessage(t.row(`SELECT `+messageColumns+` FROM messages WHERE user_id = $1 AND id = $2`, t.user, id))
	if err != nil || m.Redacted {
		return err
	}
	change(&m)
	return t.exec(`UPDATE messages SET extra = $3 WHERE user_id = $1 AND id = $2`, t.user, id, text(extraOf(m)))
}

// blankNews is what is left of news whose words are redacted.
func blankNews(n *core.News) *core.News { return &core.News{Zone: n.Zone} }

// redactNews blanks notes that tell of a loop made from a message, or of the
// summary of its day. They are listed once in a transaction.
func (t *tx) redactNews(m core.Message, loops []core.LoopID) error {
	if t.notes == nil {
		rows, err := t.rows(`SELECT `+messageColumns+
			` FROM messages WHERE user_id = $1 AND extra <> '{}' AND extra LIKE '%"news":%'`, t.user)
		got, err := collect(rows, err, scanMessage)
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
