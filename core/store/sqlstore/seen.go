package sqlstore

import (
	"fmt"
	"sync"

	"github.com/everthread/everthread/core"
)

// seen caches the identities and users that this process last saw at addresses. Only an
// Append relies on it, which compares it with the rows that it has locked.
type seen struct {
	mu     sync.Mutex
	people map[core.Address]sight
}

// sight is the cached state of an address.
type sight struct {
	identity core.Identity
	user     core.User // without its settings
	settings string
	as       string
}

// maxSeen bounds the cached addresses.
const maxSeen = 4096

func (s *seen) put(a core.Address, p sight) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.people == nil {
		s.people = map[core.Address]sight{}
	}
	if _, there := s.people[a]; !there && len(s.people) >= maxSeen {
		for other := range s.people { // any: the order of a map is random
			delete(s.people, other)
			break
		}
	}
	s.people[a] = p
}

// forget removes an address that belongs to no user.
func (s *seen) forget(a core.Address) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.people, a)
}

// seenAs returns everything about an identity and its user that affects the handling of a
// message, as one comparable text.
func seenAs(i core.Identity, name, role, settings string, standing int64) string {
	return fmt.Sprintf("%d %d %d %q %q %q %q %q %d %s", i.User, i.ID, i.Thread, i.Address, i.Aliases, i.Name, name, role,
		standing, settings)
}

// Known returns the last seen identity and user at an address; see core.InboundStore.
func (s *Store) Known(a core.Address) (core.Identity, core.User, string, bool) {
	s.seen.mu.Lock()
	p, ok := s.seen.people[a]
	s.seen.mu.Unlock()
	if !ok || unjson(p.settings, &p.user.Settings) != nil {
		return core.Identity{}, core.User{}, "", false
	}
	return p.identity, p.user, p.as, true
}
