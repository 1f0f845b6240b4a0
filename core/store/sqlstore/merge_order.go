package sqlstore

import (
	"slices"

	"github.com/everthread/everthread/core"
)

// place gives the messages of both continuous threads their positions in the merged one, and the inputs of its running
// turn the last ones. Positions only grow and are unique, so it begins at the end.
func (m *merger) place() {
	merged := interleave(m.positions(m.into, m.thread), m.positions(m.from, m.was))
	last := max(m.lastOf(m.into, m.thread), m.lastOf(m.from, m.was))
	if n := len(merged); n > 0 {
		last = max(last, merged[n-1].next)
	}
	const set = `UPDATE messages SET position = $3, shown = $3 WHERE user_id = $1 AND id = $2`
	if m.running != nil {
		for _, id := range m.running.Inputs {
			last++
			m.exec(set+` AND turn_id = $4`, m.running.User, id, last, m.running.ID)
		}
	}
	for n, p := range slices.Backward(merged) {
		user := m.from.user
		if p.into {
			user = m.into.user
		}
		if p.next != p.position {
			m.exec(set, user, p.id, p.next)
		}
		if n%rowsAtOnce == 0 {
			m.send()
		}
	}
	m.exec(`UPDATE threads SET last_position = $3 WHERE user_id = $1 AND id = $2`, m.into.user, m.thread, last)
}

// lastOf returns the last position of a thread.
func (m *merger) lastOf(t *tx, thread core.ThreadID) int64 {
	return valueOf[int64](m, `SELECT `+lastPosition+` FROM threads h WHERE h.user_id = $1 AND h.id = $2`, t.user, thread)
}

// positions lists the messages of a thread in order, except the inputs of the running turn.
func (m *merger) positions(t *tx, thread core.ThreadID) []placed {
	all := listOf(m, fields(func(p *placed) []any { return []any{&p.id, &p.turn, &p.position} }),
		`SELECT id, turn_id, position FROM messages WHERE user_id = $1 AND thread_id = $2 AND position > 0 ORDER BY position`, t.user, thread)
	return slices.DeleteFunc(all, func(p placed) bool {
		return m.running != nil && m.running.User == t.user && m.running.ID == core.TurnID(p.turn)
	})
}

// placed is a message with its position, and the next one after the merge.
type placed struct {
	id, turn, position int64
	into               bool // of the target user
	next               int64
}

// interleave merges two threads, both sorted by position, in the order of time. Each message keeps its position, or
// gets the one after its predecessor if that is taken. Messages of one turn stay together.
func interleave(into, from []placed) []placed {
	out := make([]placed, 0, len(into)+len(from))
	last := int64(0)
	put := func(list []placed, own bool) []placed {
		n := block(list)
		for _, m := range list[:n] {
			m.into, m.next = own, max(last+1, m.position)
			last = m.next
			out = append(out, m)
		}
		return list[n:]
	}
	for len(into) > 0 || len(from) > 0 {
		if len(from) == 0 || len(into) > 0 && into[0].position <= from[0].position {
			into = put(into, true)
		} else {
			from = put(from, false)
		}
	}
	return out
}

// block returns how many messages at the beginning of a list belong to one turn.
func block(list []placed) int {
	n := 1
	for n < len(list) && list[n].turn != 0 && list[n].turn == list[0].turn {
		n++
	}
	return n
}
