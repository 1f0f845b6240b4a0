package sqlstore

import "github.com/everthread/everthread/core"

// place assigns a position to every message of the conversation: its sending time, or the next
// free position after it. No message is occupied within a turn.
func (in *importing) place() error {
	s := walk{importing: in}
	last, taken := int64(0), &in.taken
	for i := range in.fresh {
		m := &in.fresh[i]
		if m.Kind != core.KindChat {
			continue
		}
		first := max(last+1, m.wanted())
		from := first
		if taken.From <= first && first <= taken.To {
			from = taken.To + 1
		}
		var err error
		if last, err = s.free(from); err != nil {
			return err
		}
		if first < taken.From || first > taken.To+1 {
			taken.From = first
		}
		taken.To = last
		m.position, s.before = last, occupied{position: last}
	}
	return nil
}

// occupied is the position of a stored message, and its turn.
type occupied struct {
	position int64
	turn     core.TurnID
}

// walk iterates over the messages of a thread in their order.
type walk struct {
	*importing
	begun, ended bool
	before       occupied // the last one before the requested position
	page         []occupied
}

// walkPage is how many messages are read at a time.
const walkPage = 500

// free returns the first free position from p on. p must never decrease.
func (s *walk) free(p int64) (int64, error) {
	if err := s.begin(p); err != nil {
		return 0, err
	}
	for {
		if err := s.seek(p); err != nil {
			return 0, err
		}
		if len(s.page) == 0 {
			return p, nil
		}
		next := s.page[0]
		if next.position != p && (next.turn == 0 || next.turn != s.before.turn) {
			return p, nil
		}
		p = next.position + 1
	}
}

// begin reads the message before the first position.
func (s *walk) begin(p int64) error {
	if s.begun {
		return nil
	}
	s.begun = true
	list, err := s.read(
		`SELECT position, turn_id FROM messages WHERE user_id = $1 AND thread_id = $2 AND position < $3 AND position > 0 ORDER BY position DESC LIMIT $4`, p, 1)
	if len(list) > 0 {
		s.before = list[0]
	}
	s.page = nil
	return err
}

// seek advances to the first message at p or later.
func (s *walk) seek(p int64) error {
	for {
		for len(s.page) > 0 && s.page[0].position < p {
			s.before, s.page = s.page[0], s.page[1:]
		}
		if len(s.page) > 0 || s.ended {
			return nil
		}
		list, err := s.read(
			`SELECT position, turn_id FROM messages WHERE user_id = $1 AND thread_id = $2 AND position > $3 AND position > 0 ORDER BY position LIMIT $4`,
			max(s.before.position, 0), walkPage)
		if err != nil {
			return err
		}
		s.page, s.ended = list, len(list) < walkPage
	}
}

func (s *walk) read(query string, from int64, limit int) ([]occupied, error) {
	rows, err := s.rows(query, s.user, s.thread, from, limit)
	return collect(rows, err, func(r scanner) (x occupied, err error) { return x, r.Scan(&x.position, &x.turn) })
}
