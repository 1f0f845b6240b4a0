package compress_test

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/chat/compress"
	"github.com/everthread/everthread/core/chat/compress/compresstest"
	"github.com/everthread/everthread/core/llm/tokens"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/internal/fulltest"
)

// counter is shared because its vocabulary is large.
var counter = sync.OnceValue(tokens.New)

var year = sync.OnceValue(func() []core.Message { return compresstest.Year(1, counter()) })

// tally counts tokens of messages by role.
type tally map[core.Role]int

func (t tally) sum() int { return t[core.RoleUser] + t[core.RoleAssistant] }

// TestYear checks that facts remain readable when a year of 20,000 messages is compressed to 80,000
// tokens.
func TestYear(t *testing.T) {
	t.Parallel()
	fulltest.Only(t)
	ms := year()
	raw, sizes := tally{}, [store.MaxTier + 1]tally{{}, {}, {}, {}, {}}
	shown := compressYear(ms)
	for i := range ms {
		raw[ms[i].Role] += ms[i].Tokens
		for tier := store.TierOlder; tier <= store.MaxTier; tier++ {
			sizes[tier][ms[i].Role] += shown[i][tier].Tokens
		}
	}
	t.Logf("raw: %d of users, %d of assistants", raw[core.RoleUser], raw[core.RoleAssistant])
	for tier := store.TierOlder; tier <= store.MaxTier; tier++ {
		t.Logf("tier %d: %d of users (%.2f), %d of assistants (%.3f)", tier, sizes[tier][core.RoleUser],
			ratio(sizes[tier], raw, core.RoleUser), sizes[tier][core.RoleAssistant], ratio(sizes[tier], raw, core.RoleAssistant))
	}
	kernel := sizes[store.TierKernel]
	if kernel.sum() > 80_000 || kernel[core.RoleUser]*4 < kernel.sum()*3 {
		t.Errorf("the kernels take %d tokens, %d of them users'; want at most 80,000, three in four of them users'",
			kernel.sum(), kernel[core.RoleUser])
	}
	lost := map[core.Role]int{}
	for _, n := range compresstest.Needles() {
		if !strings.Contains(shown[n.Message-1][store.TierKernel].Text, n.Words) {
			lost[n.Role]++
			t.Logf("lost: %s (%s) in %q", n.Question, n.Words, excerpt(shown[n.Message-1][store.TierKernel].Text))
		}
	}
	if lost[core.RoleUser] > 2 || lost[core.RoleAssistant] > 10 {
		t.Errorf("lost %d facts of 50 of the user's and %d of the assistant's; want at most 2 and 10", lost[core.RoleUser],
			lost[core.RoleAssistant])
	}
}

func excerpt(s string) string { return s[:min(len(s), 160)] }

func ratio(a, b tally, r core.Role) float64 { return float64(a[r]) / float64(b[r]) }

// compressYear compresses every message once, oldest first, with references to earlier pieces, as
// the store and its background job do.
func compressYear(ms []core.Message) []compress.Forms {
	c := compress.New(counter())
	index, out := index{}, make([]compress.Forms, len(ms))
	for i := range ms {
		var repeats []compress.Repeat
		if ms[i].Role == core.RoleUser {
			prints := c.Prints(&ms[i])
			repeats = c.Repeats(ms[i].Text, index.find(prints))
			index.add(&ms[i], prints)
		}
		out[i] = c.Forms(&ms[i], repeats)
	}
	return out
}

// index finds earlier pieces by their prints, as the store's table does.
type index map[int64][]compress.Candidate

func (x index) add(m *core.Message, prints []store.Printed) {
	for _, p := range prints {
		x[p.Band] = append(x[p.Band], compress.Candidate{Message: m.ID, Piece: p.Piece, Text: m.Text})
	}
}

// candidatesOf limits the pieces that are found for one band.
const candidatesOf = 4

// find returns the earliest candidates of each piece.
func (x index) find(prints []store.Printed) map[int][]compress.Candidate {
	out := map[int][]compress.Candidate{}
	for _, p := range prints {
		for _, c := range x[p.Band][:min(len(x[p.Band]), candidatesOf)] {
			if !slices.Contains(out[p.Piece], c) {
				out[p.Piece] = append(out[p.Piece], c)
			}
		}
	}
	return out
}
