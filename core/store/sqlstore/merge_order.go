package sqlstore

// placed is a message in the order of its thread.
type placed struct {
	id, turn, position int64
	into               bool // of the target user
	next               int64
}

// interleave puts two threads in one order of time and gives every message its
// position in it: its own, or if that is taken one a microsecond after the one
// before. Both are sorted by position. What belongs to one turn stays together.
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

// block is how many messages at the beginning of a list belong to one turn.
func block(list []placed) int {
	n := 1
	for n < len(list) && list[n].turn != 0 && list[n].turn == list[0].turn {
		n++
	}
	return n
}
