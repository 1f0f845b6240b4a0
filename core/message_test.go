package core_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/everthread/everthread/core"
)

func TestInTime(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var want, got []core.Message
		id := core.MessageID(0)
		for range rapid.IntRange(0, 10).Draw(t, "read") {
			id += core.MessageID(rapid.IntRange(1, 3).Draw(t, "number"))
			want = append(want, core.Message{ID: 100 - id, Position: int64(id)})
		}
		for range rapid.IntRange(0, 4).Draw(t, "pending") {
			id++
			want = append(want, core.Message{ID: id})
		}
		got = rapid.Permutation(slices.Clone(want)).Draw(t, "by number")
		core.InTime(got)
		for i := range want {
			if got[i].ID != want[i].ID {
				t.Fatalf("got %v, want %v", got, want)
			}
		}
	})
}
