package long

import (
	"cmp"
	"math"
	"slices"
)

// What the Kernel takes at least, found by measuring a year (see year_test.go).
const (
	userFact      = 0.75 // the worth of a sentence of a user's
	assistantFact = 1.4  // the same of an assistant's, whose words can be derived
	hardest       = 4.0  // that of one which may take more than its room
)

// Tokens that a form may take however short the message is: a sentence or two.
const (
	leastUserKernel       = 80
	leastAssistantOlder   = 28
	leastAssistantVeryOld = 20
	leastAssistantKernel  = 32
)

// shortest is how many tokens a user's message has at most that only the Kernel
// shortens.
const shortest = 16

// smallFixed is how many tokens code or a quote has at most that the Kernel
// keeps: the mark in its place would hardly be shorter.
const smallFixed = 20

// wish says what of a message is wanted.
type wish struct {
	room  int     // tokens
	least float64 // what is worth less is left out even if there is room
	must  float64 // what is worth as much is kept even if there is none; 0: nothing
	most  int     // tokens that those may take; 0: any number
	any   bool    // keep the best even if it is longer than the room
	facts bool    // by the facts in it alone
}

// share is a part of the message's tokens, but not less than least.
func (d *draft) share(ratio float64, least int) int {
	return max(int(ratio*float64(d.total)), least)
}

func (d *draft) ofUser(given string) [4]string {
	var out [4]string
	out[Older] = d.deduplicated()
	out[VeryOld] = d.light(given)
	out[Kernel] = d.kernel()
	return out
}

// light is a user's message with about 0.7 of its tokens: all quotes, code and
// facts, and what else is worth most.
func (d *draft) light(given string) string {
	if text, ok := d.believeUser(given); ok {
		return text
	}
	if d.total <= shortest {
		return d.m.Text
	}
	room := d.share(d.options.UserVeryOld, 0)
	units := d.subdivide(d.units, room)
	keep := d.choose(units, wish{room: room, least: 0.05, must: userFact, any: true})
	return d.render(units, keep, style{edges: true})
}

// kernel is what carries facts of a user's message.
func (d *draft) kernel() string {
	if known := d.known(); len(known) < len(d.repeats) {
		d = d.read(d.m, known)
	}
	room := d.share(d.options.UserKernel, leastUserKernel)
	units := d.subdivide(d.units, room)
	for i := range units {
		if u := &units[i]; u.repeats || u.tokens > smallFixed && (u.kind.isCode() || u.kind == quote) {
			u.score = nothing
		}
	}
	keep := d.choose(units, wish{room: room, least: userFact, any: true})
	if !slices.Contains(keep, true) && d.onlyKnown(units) {
		return ""
	}
	return d.render(units, keep, style{marks: true, tail: true})
}

// onlyKnown reports whether all code and quotes among units repeat earlier ones,
// where they have their mark.
func (d *draft) onlyKnown(units []unit) bool {
	return !slices.ContainsFunc(units, func(u unit) bool { return u.fixed() && !u.repeats })
}

// known returns the repeats that say nothing new: all of code, but only exact
// ones of prose, whose changes may be facts.
func (d *draft) known() []Repeat {
	return slices.DeleteFunc(slices.Clone(d.repeats), func(r Repeat) bool {
		return !r.Exact &&
			!d.pieces[r.Piece].kind.isCode()
	})
}

func (d *draft) ofAssistant(given string) [4]string {
	var out [4]string
	o := d.options
	older := wish{room: d.share(o.AssistantOlder, leastAssistantOlder), least: -0.5, must: assistantFact, any: true}
	older.most = older.room * 3 / 2
	veryOld := wish{room: d.share(o.AssistantVeryOld, leastAssistantVeryOld), least: 0.8, must: assistantFact, any: true}
	veryOld.most = older.most
	kernel := wish{room: d.share(o.AssistantKernel, leastAssistantKernel), least: assistantFact, must: hardest,
		most: longSentence, facts: true, any: true}
	out[Older] = d.render(d.units, d.choose(d.units, older), style{marks: true, plain: true, edges: true})
	out[VeryOld] = d.points(d.units, veryOld)
	out[Kernel] = d.points(d.units, kernel)
	if g, ok := d.believeAssistant(given); ok {
		out[Older] = g.m.Text
		out[VeryOld] = g.richer(g.points(g.units, veryOld), out[VeryOld])
		out[Kernel] = g.richer(g.points(g.units, kernel), out[Kernel])
	}
	return out
}

// points are the best sentences as a list. Code is left out.
func (d *draft) points(units []unit, w wish) string {
	units = slices.DeleteFunc(slices.Clone(units), func(u unit) bool { return u.kind.isCode() || u.kind == heading })
	units = d.subdivide(units, w.room)
	return d.render(units, d.choose(units, w), style{bullets: true, plain: true})
}

// choose says which units to keep: by their worth for their length, within the
// room.
func (d *draft) choose(units []unit, w wish) []bool {
	keep, used := make([]bool, len(units)), 0
	order := w.order(units)
	for _, i := range w.byWorth(units) {
		u := &units[i]
		must := w.must > 0 && (w.worth(u) >= w.must || w.most == 0 && u.stays())
		if must && (w.most == 0 || used+u.tokens <= w.most) {
			keep[i] = true
			used += u.tokens
		}
	}
	for _, i := range order {
		u := &units[i]
		if keep[i] || w.worth(u) < w.least {
			continue
		}
		if used+u.tokens <= w.room || w.any && used == 0 {
			keep[i] = true
			used += u.tokens
		}
	}
	return keep
}

// stays reports whether u is what a user's light summary has in any case.
func (u *unit) stays() bool { return u.fixed() || u.repeats }

func (w wish) worth(u *unit) float64 {
	if w.facts && u.fact < factFloor {
		return nothing
	}
	return u.score
}

// byWorth returns the indexes of units, the most worth first, however long.
func (w wish) byWorth(units []unit) []int {
	out := make([]int, len(units))
	for i := range units {
		out[i] = i
	}
	slices.SortStableFunc(out, func(a, b int) int { return cmp.Compare(w.worth(&units[b]), w.worth(&units[a])) })
	return out
}

// order returns the indexes of units, the best first.
func (w wish) order(units []unit) []int {
	out, rank := make([]int, len(units)), make([]float64, len(units))
	for i := range units {
		out[i], rank[i] = i, w.worth(&units[i])
		if rank[i] > 0 {
			rank[i] /= math.Sqrt(float64(units[i].tokens + 4))
		}
	}
	slices.SortStableFunc(out, func(a, b int) int { return cmp.Compare(rank[b], rank[a]) })
	return out
}

// nothing is the worth of what is never kept.
const nothing = -9

// factFloor is how many facts a sentence of an assistant's has at least for the
// Kernel; advice without any can be had again.
const factFloor = 0.5
