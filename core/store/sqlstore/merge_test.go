package sqlstore

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

// thread generates a thread: turns of one to four messages, and some messages without a turn.
func thread(first int64) *rapid.Generator[[]placed] {
	return rapid.Custom(func(t *rapid.T) []placed {
		var out []placed
		last, id := int64(0), first
		for turn := range rapid.Int64Range(0, 12).Draw(t, "turns") {
			n, own := rapid.IntRange(1, 4).Draw(t, "messages"), turn+1
			if rapid.IntRange(0, 4).Draw(t, "alone") == 0 {
				n, own = 1, 0
			}
			for range n {
				last += rapid.Int64Range(1, 3).Draw(t, "after")
				id++
				out = append(out, placed{id: id, turn: own, position: last})
			}
		}
		return out
	})
}

func TestInterleave(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		into, from := thread(0).Draw(t, "into"), thread(1000).Draw(t, "from")
		got := interleave(slices.Clone(into), slices.Clone(from))
		for _, list := range [][]placed{into, from} {
			var own []placed
			for _, p := range got {
				if slices.ContainsFunc(list, func(o placed) bool { return o.id == p.id }) {
					own = append(own, placed{id: p.id, turn: p.turn, position: p.position})
				}
			}
			if !slices.Equal(own, list) {
				t.Fatalf("got %v of %v", own, list)
			}
		}
		if len(got) != len(into)+len(from) {
			t.Fatalf("got %d messages", len(got))
		}
		for i := 1; i < len(got); i++ {
			a, b := got[i-1], got[i]
			if b.next <= a.next || b.next < b.position {
				t.Fatalf("%v is after %v", b, a)
			}
		}
		for i := range got {
			n := i + 1
			for n < len(got) && got[n].turn == got[i].turn && got[n].into == got[i].into {
				n++
			}
			if slices.ContainsFunc(got[n:], func(p placed) bool {
				return p.turn != 0 && p.turn == got[i].turn &&
					p.into == got[i].into
			}) {
				t.Fatalf("turn %d is torn apart", got[i].turn)
			}
		}
		again := slices.Clone(got)
		slices.SortFunc(again, func(a, b placed) int { return cmp.Compare(a.next, b.next) })
		if !slices.Equal(again, got) {
			t.Fatal("positions are not in order")
		}
	})
}

func TestRenumber(t *testing.T) {
	t.Parallel()
	r := renumbering{message: 100, id: 1000, segments: map[core.SegmentID]day{3: {into: 7, versions: 2}},
		threads: map[core.ThreadID]core.ThreadID{1: 5}}
	for in, want := range map[string]string{
		"tea [#1]":                      "tea [#101]",
		"[#1, #2] and [#3–#12], #4":     "[#101, #102] and [#103–#112], #4",
		"[similar to message #4]":       "[similar to message #4]",
		"a [link](#1) and [#x] and [#]": "a [link](#1) and [#x] and [#]",
	} {
		if got := r.text(in); got != want {
			t.Errorf("text %q: got %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{
		`{"results":[{"message_id":5,"day_segment_id":3}],"next_from_message_id": 9}`: `{"results":[{"message_id":105,"day_segment_id":7}],"next_from_message_id": 109}`,
		`{"day_segment_id":4,"from_message_id":1,"to_message_id":2}`:                  `{"day_segment_id":1004,"from_message_id":101,"to_message_id":102}`,
		`{"id":7,"source_message_id":2,"source_thread_id":1,"item_id": 8}`:            `{"id":1007,"source_message_id":102,"source_thread_id":5,"item_id": 1008}`,
		`{"summary":"tea [#2]","limit":6,"sample_id":"x"}`:                            `{"summary":"tea [#102]","limit":6,"sample_id":"x"}`,
		`{"message_id":0}`: `{"message_id":0}`,
	} {
		if got := r.json(in); got != want {
			t.Errorf("json %s: got %s, want %s", in, got, want)
		}
	}
	m := core.Message{Role: core.RoleUser, Text: "about [#1]", News: &core.News{Text: "Tea. [#1]", Loops: []core.LoopID{8},
		Segment: 3, Version: 1}}
	if !r.row(&m) || m.Text != "about [#1]" || text(m.News) != text(core.News{Text: "Tea. [#101]",
		Loops: []core.LoopID{1008}, Segment: 7, Version: 3}) {
		t.Errorf("news: got %q below %+v", m.Text, m.News)
	}
	s := store.Snapshot{Messages: core.NewIDSet(1, 2, 3), Epoch: 4, Revisions: map[core.MessageID]int{2: 1}}
	if got, want := r.snapshot(text(s)), text(store.Snapshot{Messages: core.NewIDSet(101, 102, 103), Epoch: 1004,
		Revisions: map[core.MessageID]int{102: 1}}); got != want {
		t.Errorf("snapshot: got %s, want %s", got, want)
	}
	e := store.Epoch{ID: 2, Cuts: map[core.MessageID]int{5: 9}, Opener: 3, Skip: []core.MessageID{6},
		Head: []store.HeadPart{{Text: "x [#1]", Segment: 3, Version: 1, Loops: []core.LoopID{8}}}}
	w := store.Epoch{ID: 1002, Cuts: map[core.MessageID]int{105: 9}, Opener: 103, Skip: []core.MessageID{106},
		Head: []store.HeadPart{{Text: "x [#101]", Segment: 7, Version: 3, Loops: []core.LoopID{1008}}}}
	if got, want := r.epoch(text(e)), text(w); got != want {
		t.Errorf("epoch: got %s, want %s", got, want)
	}
}

func FuzzRenumber(f *testing.F) {
	f.Add(`{"message_id":12} [#3]`, int64(5))
	f.Fuzz(func(t *testing.T, s string, by int64) {
		by = by % 1_000_000
		if by <= 0 {
			return
		}
		r := renumbering{message: by}
		back := renumbering{message: -by}
		if got := back.text(r.text(s)); got != s && !slices.ContainsFunc(bracket.FindAllString(s, -1), odd) {
			t.Errorf("%q became %q", s, got)
		}
		_ = r.json(s)
	})
}

// odd reports whether a reference contains numbers in a form that the store never writes.
func odd(ref string) bool {
	return slices.ContainsFunc(number.FindAllString(ref, -1), func(n string) bool { return n[0] == '0' || len(n) > 9 })
}

// TestMerge_everyTable checks that the tables' rules for merges match what is copied.
func TestMerge_everyTable(t *testing.T) {
	t.Parallel()
	copied := []string{"segments", "summaries", "event_ids", "addresses", "jobs"} // with others, or one by one
	for _, c := range copiers() {
		copied = append(copied, c.table)
	}
	for _, table := range Tables() {
		should := table.Merge == MergeCopied || table.Merge == MergeShifted
		if is := slices.Contains(copied, table.Name); is != should {
			t.Errorf("%s is copied: %v, but Tables says %q", table.Name, is, table.Merge)
		}
	}
}
