package matrix

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/everthread/everthread/core"
)

// rooms caches the states of rooms.
type rooms struct {
	home household

	mu     sync.Mutex
	have   map[string]room
	change map[string]int // counts changes by the sync, by room
}

func newRooms(h household) *rooms {
	return &rooms{home: h, have: map[string]room{}, change: map[string]int{}}
}

func (rs *rooms) get(id string) (room, bool) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	r, ok := rs.have[id]
	return r, ok
}

func (rs *rooms) put(r room) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.have[r.id] = r
}

func (rs *rooms) drop(id string) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	delete(rs.have, id)
	rs.change[id]++
}

func (rs *rooms) touch(id string) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.change[id]++
}

func (rs *rooms) changes(id string) int {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	return rs.change[id]
}

// with returns the newest direct chat with the person at a, other than not.
func (rs *rooms) with(a core.Address, not string) (room, bool) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	var found []room
	for id, r := range rs.have {
		if p, ok := r.person(rs.home); ok && p == a && id != not && r.successor == "" {
			found = append(found, r)
		}
	}
	if len(found) == 0 {
		return room{}, false
	}
	newest := func(x, y room) int { return int(x.members[rs.home.self].at - y.members[rs.home.self].at) }
	return slices.MaxFunc(found, newest), true
}

// load returns a room, and reads its state unless it is cached. A room to which the
// account has no access is kindGone.
func (rs *rooms) load(ctx context.Context, s *session, id string) (room, error) {
	if r, ok := rs.get(id); ok {
		return r, nil
	}
	for range 3 {
		before := rs.changes(id)
		r, err := rs.read(ctx, s, id)
		if err != nil {
			return room{}, err
		}
		if rs.changes(id) == before {
			rs.put(r)
			return r, nil
		}
	}
	return rs.read(ctx, s, id) // it changes too often to be cached
}

func (rs *rooms) read(ctx context.Context, s *session, id string) (room, error) {
	r := room{id: id}
	var state []json.RawMessage
	err := s.call(ctx, callTimeout, request{method: http.MethodGet, path: []any{"v3", "rooms", id, "state"},
		result: &state})
	switch {
	case forGood(err):
		return r, nil
	case err != nil:
		return r, fmt.Errorf("read room state: %w", err)
	}
	for _, raw := range state {
		if e, ok := readEvent(raw); ok {
			r = r.apply(rs.home, e)
		}
	}
	return r, nil
}

// loadAll loads many rooms, several at a time.
func (rs *rooms) loadAll(ctx context.Context, s *session, ids []string) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for _, id := range ids {
		group.Go(func() error {
			_, err := rs.load(ctx, s, id)
			return err
		})
	}
	return group.Wait()
}
