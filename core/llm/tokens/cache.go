package tokens

import (
	"strings"
	"sync/atomic"
)

const (
	cacheSlots   = 1 << 12
	longestKnown = 24 // bytes; longer pieces hardly ever come again
)

// cache remembers the counts of short pieces. Pieces with the same slot push
// each other out, so it never holds more than cacheSlots of them (about 0.3 MB).
// It is safe for concurrent use.
type cache struct {
	slots [cacheSlots]atomic.Pointer[entry]
}

type entry struct {
	piece string
	count int
}

// get returns the count of piece, 0 if it is not known.
func (c *cache) get(piece string) int {
	if len(piece) > longestKnown {
		return 0
	}
	e := c.slots[slot(piece)].Load()
	if e == nil || e.piece != piece {
		return 0
	}
	return e.count
}

func (c *cache) put(piece string, count int) {
	if len(piece) <= longestKnown {
		c.slots[slot(piece)].Store(&entry{strings.Clone(piece), count})
	}
}

// slot is the FNV-1a hash of piece, folded to the number of slots.
func slot(piece string) uint32 {
	h := uint32(2166136261)
	for i := range len(piece) {
		h = (h ^ uint32(piece[i])) * 16777619
	}
	return (h ^ h>>16) % cacheSlots
}
