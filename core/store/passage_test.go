package store

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/everthread/everthread/core"
)

func TestPassages_packedAndRead(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, core.VectorSize).Draw(t, "size")
		first := core.MessageID(rapid.IntRange(1, 1<<27).Draw(t, "first"))
		var list []PassageVector
		for range rapid.IntRange(0, 5).Draw(t, "passages") {
			p := PassageVector{Message: first + core.MessageID(rapid.IntRange(0, 300).Draw(t, "message")),
				From: rapid.IntRange(0, 9000).Draw(t, "from")}
			p.To = p.From + rapid.IntRange(0, 800).Draw(t, "length")
			p.Values = rapid.SliceOfN(rapid.Int8(), size, size).Draw(t, "values")
			list = append(list, p)
		}
		got, err := UnpackPassages(first, PackPassages(first, list))
		if d := cmp.Diff(list, got); err != nil || d != "" {
			t.Fatal(err, d)
		}
	})
}

func TestDirection_keepsItsSigns(t *testing.T) {
	t.Parallel()
	if d := cmp.Diff([]int8{127, -64, 0, 1}, Direction([]float32{0.5, -0.25, 0, 0.004})); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]int8{0, 0}, Direction([]float32{0, 0})); d != "" {
		t.Error(d)
	}
}

func FuzzUnpackPassages(f *testing.F) {
	f.Add(PackPassages(7, []PassageVector{{Message: 7, From: 0, To: 3, Values: []int8{1, -2}},
		{Message: 9, From: 4, To: 5, Values: []int8{3, 4}}}))
	f.Add([]byte{1})
	f.Add([]byte{1, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		list, err := UnpackPassages(1, b)
		for _, p := range list {
			if err != nil || len(p.Values) != len(list[0].Values) || p.To < p.From {
				t.Fatalf("got %+v, %v", p, err)
			}
		}
	})
}
