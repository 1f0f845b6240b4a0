package office

import (
	"sync"

	"github.com/everthread/everthread/core"
)

// seats limits concurrent long work, per user, so that one user cannot take all seats,
// and in total.
type seats struct {
	each, all int

	mu    sync.Mutex
	taken map[core.UserID]int
	total int
}

func newSeats(each, all int) *seats {
	return &seats{each: each, all: all, taken: map[core.UserID]int{}}
}

// take takes a seat for a user and reports whether there was one. The caller must then
// call leave.
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

// leave returns a seat.
func (s *seats) leave(u core.UserID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.total--; s.taken[u] > 1 {
		s.taken[u]--
		return
	}
	delete(s.taken, u)
}
