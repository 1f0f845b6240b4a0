package sqlstore

import (
	"slices"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

// page is how many messages one step of a backward read takes.
const page = 100

// newest reads the newest messages from a position on, and counts the uncovered ones before them.
func newest(q querier, turn *core.Turn, wq store.WindowQuery, from int64, w *store.Window) error {
	n := newestRead{querier: q, turn: turn, query: wq, from: from, window: w}
	defer func() { slices.Reverse(w.Messages) }()
	for before := int64(1) << 62; ; {
		if len(w.Messages) > 0 {
			before = w.Messages[len(w.Messages)-1].Position
		}
		got, err := list(q, scanMessage, `SELECT `+messageColumns+
			` FROM messages WHERE user_id = $1 AND thread_id = $2 AND position < $3 AND position >= $5 AND position > 0
			ORDER BY position DESC LIMIT $4`, turn.User, turn.Thread, before, page+1, from)
		if err != nil {
			return err
		}
		if done, err := n.take(got, min(len(got), page)); done || err != nil || len(got) <= page {
			return err
		}
	}
}

// newestRead reads the newest messages into a window, the newest first.
type newestRead struct {
	querier
	turn   *core.Turn
	query  store.WindowQuery
	from   int64
	window *store.Window
	tokens int
}

// take appends the first messages, at most count, until there are enough.
func (r *newestRead) take(messages []core.Message, count int) (enough bool, err error) {
	w := r.window
	for n, m := range messages[:count] {
		w.Messages = append(w.Messages, m)
		r.tokens += weight(m)
		older := messages[n+1:]
		switch read := len(w.Messages); {
		case read >= r.query.Limit || read >= r.query.Newest && r.tokens >= r.query.Tokens:
			if w.More = len(older) > 0; !w.More {
				return true, nil
			}
			return true, r.uncovered(m.Position)
		case r.query.Covered > 0 && r.turn.Segment != 0 && read >= r.query.Newest && r.tokens >= r.query.Covered &&
			len(older) > 0 && begins(m, older[0]):
			r.query.Covered = 0 // they are counted here once
			if err = r.uncovered(m.Position); err != nil || w.UncoveredBefore == 0 {
				w.More = true
				return true, err
			}
			w.UncoveredBefore = 0
		}
	}
	return false, nil
}

// begins reports whether a message begins a turn; before is the one before it. Imported messages have no turn: a user's
// message and its answer are one.
func begins(m, before core.Message) bool {
	return m.Turn != before.Turn || m.Turn == 0 && m.Role == core.RoleUser
}

// uncovered counts the uncovered messages before a position, except in a plain thread.
func (r *newestRead) uncovered(before int64) error {
	if r.turn.Segment == 0 {
		return nil
	}
	return uncovered(r.querier, r.turn, r.from, before, r.window)
}

// weight returns the least number of tokens that a message takes of a prompt.
func weight(m core.Message) int {
	if m.Role == core.RoleTool {
		return min(m.Tokens, 200) + 4
	}
	return m.Tokens + 4
}
