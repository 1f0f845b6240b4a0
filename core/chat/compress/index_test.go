package compress_test

import (
	"cmp"
	"slices"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/chat/compress"
)

// place identifies a piece of the conversation.
type place struct {
	message core.MessageID
	piece   int
}

// similar returns the pieces with the most bands in common with p.
func (x *index) similar(p compress.Print) []compress.Candidate {
	shared, all := map[place]int{}, map[place]compress.Candidate{}
	for _, b := range p.Bands {
		for _, c := range x.bands[b] {
			at := place{c.Message, c.Piece}
			shared[at]++
			all[at] = c
		}
	}
	out := make([]compress.Candidate, 0, len(all))
	for _, c := range all {
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b compress.Candidate) int {
		return cmp.Or(cmp.Compare(shared[place{b.Message, b.Piece}], shared[place{a.Message, a.Piece}]),
			cmp.Compare(b.Message, a.Message))
	})
	return out[:min(len(out), mostCandidates)]
}
