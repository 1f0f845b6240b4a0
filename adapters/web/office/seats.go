package office

import (
	"sync"

	"github.com/everthread/everthread/core"
)

// seats bounds work that takes long: of one user first, so that nobody takes the
// seats of all, and then of everybody.
type seats struct {
	each, all int

	mu    sync.Mutex
	taken map[core.UserID]int
	total int
}

func newSeats(each, all int) *seats {
	return &seats{each: each, all: all, taken: map[core.UserID]int{}}
}

// take takes a seat for a user; false: there is none. Who took one leaves it.
func (s *seats) take(u core.UserID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taken[u] >= s.each || s.total >= s.all {
		return false
	}
	s.taken[u]++
	s.total++
	return true
}

// leave gives a seat back.
func (s *seats) leave(u core.UserID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.total--; s.taken[u] > 1 {
		s.taken[u]--
		return
	}
	delete(s.taken, u)
}
