package compress

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/everthread/everthread/core"
)

// Shares of a message's tokens to keep, and the tokens that a form of even the shortest may take.
const (
	lightShare      = 0.7
	kernelShare     = 0.25
	conclusionShare = 0.2
	pointShare      = 0.03

	leastKernel      = 80
	leastConclusions = 28
	leastPoints      = 32

	shortest = 16 // tokens up to which only the kernel shortens a user's message
)

// Least worth of units, found by measuring a year (see year_test.go).
const (
	userFact       = 0.65
	assistantFact  = 1.1 // an assistant's words can be derived
	assistantFacts = 0.3 // its part that is numbers and names: advice without any can be had again
	conclusion     = 1.3 // of an assistant's that may take half as much room again
)

// draft is a message whose forms are made.
type draft struct {
	*core.Message
	units []unit
	total int // tokens of the text
}

// wish says which units of a message to keep.
type wish struct {
	room  int     // tokens
	least float64 // units worth less are left out even if there is room
	facts float64 // so are units with less facts
	sure  float64 // units worth as much may take most tokens; 0: none may
	most  int
}

// share returns a share of the message's tokens, at least least.
func (d *draft) share(ratio float64, least int) int { return max(int(ratio*float64(d.total)), least) }

// deduplicated returns the message with references for repeated pieces.
func (d *draft) deduplicated() Form {
	f := Form{State: Raw}
	at := 0
	for i := range d.units {
		if u := &d.units[i]; u.reference {
			f.Text += d.Text[at:u.start] + u.text
			f.State, at = Reference, u.end
		}
	}
	f.Text += d.Text[at:]
	return f
}

// light returns a user's message with all quotes, code, references and facts, and the best of the rest.
func (d *draft) light() Form {
	if d.total <= shortest {
		return d.deduplicated()
	}
	units := slices.Clone(d.units)
	for i := range units {
		if units[i].fixed() {
			units[i].worth = max(units[i].worth, userFact)
		}
	}
	return d.render(choose(units, wish{room: d.share(lightShare, 0), least: 0.05, sure: userFact, most: math.MaxInt}))
}

// kernel returns the sentences of a user's message that carry facts.
func (d *draft) kernel() Form {
	return d.render(choose(d.units, wish{room: d.share(kernelShare, leastKernel), least: userFact}))
}

// conclusions returns the best of an assistant's message.
func (d *draft) conclusions() Form {
	room := d.share(conclusionShare, leastConclusions)
	return d.render(choose(d.units, wish{room: room, least: -0.5, sure: conclusion, most: room * 3 / 2}))
}

// points returns the hardest facts of an assistant's message, as a list if there are several.
func (d *draft) points() Form {
	keep := choose(d.units, wish{room: d.share(pointShare, leastPoints), least: assistantFact, facts: assistantFacts})
	var lines []string
	for i, u := range d.units {
		if keep[i] {
			lines = append(lines, strings.Join(strings.Fields(unmarked(u.text)), " "))
		}
	}
	f := Form{Text: strings.Join(lines, "\n- "), State: Summarized}
	if len(lines) > 1 {
		f.Text = "- " + f.Text
	}
	return f
}

// choose returns which units to keep: the most worthy that have room, and at least one that is worth enough.
func choose(units []unit, w wish) []bool {
	order := make([]int, len(units))
	for i := range units {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(units[b].worth, units[a].worth) })
	keep, used := make([]bool, len(units)), 0
	for _, i := range order {
		u, room := &units[i], w.room
		if w.sure > 0 && u.worth >= w.sure {
			room = w.most
		}
		if u.worth >= w.least && u.facts >= w.facts && (used == 0 || used+u.tokens <= room) {
			keep[i] = true
			used += u.tokens
		}
	}
	return keep
}

// left marks an omission.
const left = "…"

// render joins the kept units, with a mark where others are left out. One at the beginning is marked at the end.
func (d *draft) render(keep []bool) Form {
	state := Summarized
	var b strings.Builder
	var out omission
	separator := " " // between the text and a mark
	leave := func() {
		mark := out.mark(d.ID)
		if b.Len() > 0 && mark != "" {
			b.WriteString(separator)
		}
		if b.Len() > 0 || out.lines > 0 {
			b.WriteString(mark)
			out = omission{}
		}
	}
	for i := range d.units {
		u := &d.units[i]
		if !keep[i] {
			out.add(u)
			continue
		}
		leave()
		if b.Len() > 0 {
			b.WriteString(d.gap(u))
		}
		b.WriteString(u.text)
		separator = " "
		if u.kind.isCode() || u.kind == quote || u.reference {
			separator = "\n"
		}
		if u.reference {
			state = Reference
		}
	}
	leave()
	return Form{Text: b.String(), State: state}
}

// gap returns the white space before a unit, at most one line break.
func (d *draft) gap(u *unit) string {
	before := d.Text[:u.start]
	space := before[trimmedEnd(before, 0, u.start):]
	if strings.Contains(space, "\n") {
		return "\n"
	}
	return space
}

// omission is what was left out at one place.
type omission struct {
	any   bool
	lines int // of code and quotes
}

func (o *omission) add(u *unit) {
	o.any = true
	if (u.kind.isCode() || u.kind == quote) && !u.reference {
		o.lines += strings.Count(u.text, "\n") + 1
	}
}

// mark returns the mark of an omission in a message, "" if there is none.
func (o *omission) mark(m core.MessageID) string {
	switch {
	case o.lines > 0:
		return fmt.Sprintf("[cut: %d lines, see #%d]", o.lines, m)
	case o.any:
		return left
	}
	return ""
}

// unmarked returns a sentence without the mark of a list item or heading.
func unmarked(s string) string { return s[len(ownLine().FindString(s)):] }
