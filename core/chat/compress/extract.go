package compress

import (
	"cmp"
	"math"
	"slices"
)

// Least worth of sentences in the Kernel, found by measuring a year (see year_test.go).
const (
	userFact      = 0.75
	assistantFact = 1.4 // an assistant's words can be derived
	hardest       = 4.0 // of a sentence that may exceed the room
)

// Tokens that a form of even the shortest message may take: a sentence or two.
const (
	leastUserKernel       = 80
	leastAssistantOlder   = 28
	leastAssistantVeryOld = 20
	leastAssistantKernel  = 32
)

const (
	shortest   = 16 // tokens up to which only the Kernel shortens a user's message
	smallFixed = 20 // tokens up to which the Kernel keeps code and quotes: a mark is hardly shorter
)

// wish says which units of a message to keep.
type wish struct {
	room  int     // tokens
	least float64 // units worth less are left out even if there is room
	must  float64 // units worth as much are kept even if there is none; 0: none
	most  int     // tokens that those may take; 0: any number
	any   bool    // keep the best even if it is longer than the room
	facts bool    // keep only units with facts
}

// share returns a share of the message's tokens, at least least.
func (d *draft) share(ratio float64, least int) int { return max(int(ratio*float64(d.total)), least) }

// light returns a user's message with about userVeryOld of its tokens: all
// quotes, code and facts, and the best of the rest.
func (d *draft) light(given string) string {
	if text, ok := d.believeUser(given); ok {
		return text
	}
	if d.total <= shortest {
		return d.m.Text
	}
	room := d.share(userVeryOld, 0)
	units := d.subdivide(d.units, room)
	keep := d.choose(units, wish{room: room, least: 0.05, must: userFact, any: true})
	return d.render(units, keep, style{edges: true})
}

// kernel returns the units of a user's message that carry facts.
func (d *draft) kernel() string {
	if known := d.known(); len(known) < len(d.repeats) {
		d = d.read(d.m, known)
	}
	room := d.share(userKernel, leastUserKernel)
	units := d.subdivide(d.units, room)
	for i := range units {
		if u := &units[i]; u.repeats || u.tokens > smallFixed && (u.kind.isCode() || u.kind == quote) {
			u.score = nothing
		}
	}
	keep := d.choose(units, wish{room: room, least: userFact, any: true})
	news := slices.ContainsFunc(units, func(u unit) bool { return u.fixed() && !u.repeats })
	if !slices.Contains(keep, true) && !news { // what repeats has its own mark
		return ""
	}
	return d.render(units, keep, style{marks: true, tail: true})
}

// known returns the repeats without news: all of code, but only exact ones of prose, whose changes may be facts.
func (d *draft) known() []Repeat {
	return slices.DeleteFunc(slices.Clone(d.repeats), func(r Repeat) bool {
		return !r.Exact && !d.pieces[r.Piece].kind.isCode()
	})
}

func (d *draft) ofAssistant(given string) [4]string {
	var out [4]string
	older := wish{room: d.share(assistantOlder, leastAssistantOlder), least: -0.5, must: assistantFact, any: true}
	older.most = older.room * 3 / 2
	veryOld := wish{room: d.share(assistantVeryOld, leastAssistantVeryOld), least: 0.8, must: assistantFact, any: true}
	veryOld.most = older.most
	kernel := wish{room: d.share(assistantKernel, leastAssistantKernel), least: assistantFact, must: hardest,
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

// points returns the best sentences as a list, without code.
func (d *draft) points(units []unit, w wish) string {
	units = slices.DeleteFunc(slices.Clone(units), func(u unit) bool { return u.kind.isCode() || u.kind == heading })
	units = d.subdivide(units, w.room)
	return d.render(units, d.choose(units, w), style{bullets: true, plain: true})
}

// choose returns which units to keep: by their worth for their length, within the room.
func (d *draft) choose(units []unit, w wish) []bool {
	keep, used := make([]bool, len(units)), 0
	for _, i := range ordered(units, w.worth) {
		u := &units[i]
		must := w.must > 0 && (w.worth(u) >= w.must || w.most == 0 && u.stays())
		if must && (w.most == 0 || used+u.tokens <= w.most) {
			keep[i] = true
			used += u.tokens
		}
	}
	for _, i := range ordered(units, w.density) {
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

// stays reports whether a user's light summary has u in any case.
func (u *unit) stays() bool { return u.fixed() || u.repeats }

func (w wish) worth(u *unit) float64 {
	if w.facts && u.fact < factFloor {
		return nothing
	}
	return u.score
}

// density returns the worth of a unit for its length.
func (w wish) density(u *unit) float64 {
	worth := w.worth(u)
	if worth > 0 {
		worth /= math.Sqrt(float64(u.tokens + 4))
	}
	return worth
}

// ordered returns the indexes of units, those of the highest rank first.
func ordered(units []unit, rank func(*unit) float64) []int {
	out := make([]int, len(units))
	for i := range units {
		out[i] = i
	}
	slices.SortStableFunc(out, func(a, b int) int { return cmp.Compare(rank(&units[b]), rank(&units[a])) })
	return out
}

// nothing is the worth of units that are never kept.
const nothing = -9

// factFloor is the least facts of an assistant's sentence for the Kernel: advice without any can be had again.
const factFloor = 0.5
