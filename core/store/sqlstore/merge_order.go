package sqlstore

// placed is a message with its position, and the next one after the merge.
type placed struct {
	id, turn, position int64
	into               bool // of the target user
	next               int64
}

// interleave merges two threads, both sorted by position, in the order of time. Each message
// keeps its position, or gets the one after its predecessor if that is taken. Messages of one
// turn stay together.
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
