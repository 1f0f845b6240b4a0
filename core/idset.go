package core

import (
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
)

// IDSet is a set of message ids, kept as sorted closed ranges. The zero value
// is the empty set. Its JSON is [[1,5],[7,7]].
type IDSet struct{ ranges [][2]MessageID }

// NewIDSet returns the set of ids.
func NewIDSet(ids ...MessageID) IDSet {
	sorted := slices.Clone(ids)
	slices.Sort(sorted)
	var s IDSet
	for _, id := range sorted {
		n := len(s.ranges)
		if n > 0 && id <= s.ranges[n-1][1]+1 {
			s.ranges[n-1][1] = max(s.ranges[n-1][1], id)
			continue
		}
		s.ranges = append(s.ranges, [2]MessageID{id, id})
	}
	return s
}

// Has reports whether id is in the set.
func (s IDSet) Has(id MessageID) bool {
	_, found := slices.BinarySearchFunc(s.ranges, id, func(r [2]MessageID, id MessageID) int {
		switch {
		case r[1] < id:
			return -1
		case r[0] > id:
			return 1
		}
		return 0
	})
	return found
}

// Shift returns the set with every id moved by n.
func (s IDSet) Shift(n MessageID) IDSet {
	out := IDSet{ranges: s.Ranges()}
	for i := range out.ranges {
		out.ranges[i][0] += n
		out.ranges[i][1] += n
	}
	return out
}

// Union returns the ids of both sets.
func (s IDSet) Union(o IDSet) IDSet {
	all := append(s.Ranges(), o.ranges...)
	slices.SortFunc(all, func(a, b [2]MessageID) int { return cmp.Compare(a[0], b[0]) })
	var out IDSet
	for _, r := range all {
		n := len(out.ranges)
		if n > 0 && r[0] <= out.ranges[n-1][1]+1 {
			out.ranges[n-1][1] = max(out.ranges[n-1][1], r[1])
			continue
		}
		out.ranges = append(out.ranges, r)
	}
	return out
}

// Len returns how many ids are in the set.
func (s IDSet) Len() int {
	n := 0
	for _, r := range s.ranges {
		n += int(r[1]-r[0]) + 1
	}
	return n
}

// Ranges returns the closed ranges of the set in order.
func (s IDSet) Ranges() [][2]MessageID { return slices.Clone(s.ranges) }

// All yields the ids of the set in order.
func (s IDSet) All() iter.Seq[MessageID] {
	return func(yield func(MessageID) bool) {
		for _, r := range s.ranges {
			for id := r[0]; id <= r[1]; id++ {
				if !yield(id) {
					return
				}
			}
		}
	}
}

// MarshalJSON writes the ranges.
func (s IDSet) MarshalJSON() ([]byte, error) {
	if s.ranges == nil {
		return []byte("[]"), nil
	}
	return json.Marshal(s.ranges)
}

// UnmarshalJSON reads ranges, and refuses unsorted or overlapping ones.
func (s *IDSet) UnmarshalJSON(b []byte) error {
	var ranges [][2]MessageID
	if err := json.Unmarshal(b, &ranges); err != nil {
		return fmt.Errorf("message id set: %w", err)
	}
	for i, r := range ranges {
		if r[0] > r[1] || i > 0 && r[0] <= ranges[i-1][1] {
			return fmt.Errorf("message id set: range %v out of order", r)
		}
	}
	s.ranges = ranges
	return nil
}
