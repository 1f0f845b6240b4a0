package recall

import (
	"strings"
	"sync/atomic"
)

const (
	cacheSlots  = 1 << 13
	longestWord = 24 // bytes; longer ones are rarely repeated
)

// cache holds the terms of short words as written. Words of the same slot replace
// each other, so it never holds more than cacheSlots of them (about 1.5 MB). It is
// safe for concurrent use; callers must not change the terms.
type cache struct {
	slots [cacheSlots]atomic.Pointer[cached]
}

type cached struct {
	run   string
	terms []string
}

func (c *cache) get(run string) ([]string, bool) {
	if len(run) > longestWord {
		return nil, false
	}
	e := c.slots[slot(run)].Load()
	if e == nil || e.run != run {
		return nil, false
	}
	return e.terms, true
}

func (c *cache) put(run string, terms []string) {
	if len(run) <= longestWord {
		c.slots[slot(run)].Store(&cached{strings.Clone(run), terms})
	}
}

// slot returns the FNV-1a hash of run, folded to the number of slots.
func slot(run string) uint32 {
	h := uint32(2166136261)
	for i := range len(run) {
		h = (h ^ uint32(run[i])) * 16777619
	}
	return (h ^ h>>16) % cacheSlots
}
