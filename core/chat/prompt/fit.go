package prompt

import (
	"fmt"
	"sort"
	"strings"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/text"
)

// fit reduces the choice to the hard cap, whatever the history. It cuts, in this order:
// parts of the head; long messages, then whole turns, oldest first; the middle of required
// messages; the rest of the head; last, required messages except the newest group.
func (c *choice) fit() error {
	over := func() int { return c.recount() - c.builder.cap }
	if over() <= 0 {
		return nil
	}
	c.cutHead(c.head, over(), false)
	c.cutLong(over)
	for i := 0; i < len(c.all) && over() > 0; i = c.turnEnd(i) {
		c.dropTurn(i, true)
	}
	if over() > 0 {
		c.level(over)
	}
	if over() > 0 {
		c.cutHead(c.head, over(), true)
	}
	for i := 0; i < len(c.all) && over() > 0; {
		end := c.groupEnd(i)
		if end < len(c.all) { // never the last one
			clear(c.keep[i:end])
		}
		i = end
	}
	if over() > 0 {
		return ErrNoRoom
	}
	return nil
}

// cutLong cuts long messages that may be dropped, oldest first: a part of one is better
// than dropping it and all before it.
func (c *choice) cutLong(over func() int) {
	long := max(toolFloor, (c.builder.cap-c.head.cost())/8)
	for i := range c.all {
		if !c.keep[i] || c.must[i] || c.size(&c.all[i]) <= long {
			continue
		}
		if n := over(); n > 0 {
			c.shorten(i, n, long)
		}
	}
}

// level cuts the middle of the longest kept messages: tool outputs first, then earlier
// messages, then the inputs, finally down to proseFloor. The first steps leave room for a
// short answer and question, so that the next turn need not cut again.
func (c *choice) level(over func() int) {
	slack := c.builder.cap / 12
	tool := func(r *raw) bool { return r.Role == core.RoleTool }
	earlier := func(r *raw) bool { return !r.input }
	input := func(r *raw) bool { return r.input }
	c.lower(over()+slack, 2*proseFloor, tool)
	c.lower(over()+slack, 100, earlier)
	c.lower(over()+slack, 100, input)
	c.lower(over(), proseFloor, earlier)
	c.lower(over(), proseFloor, input)
}

// lower cuts the kept messages that which selects to the highest common length that saves
// over tokens in all, but not below floor.
func (c *choice) lower(over, floor int, which func(r *raw) bool) {
	var chosen []*raw
	longest := floor
	for i := range c.all {
		if r := &c.all[i]; c.keep[i] && which(r) {
			chosen, longest = append(chosen, r), max(longest, c.size(r))
		}
	}
	level := floor + sort.Search(longest-floor, func(n int) bool {
		saved := 0
		for _, r := range chosen {
			saved += max(0, c.size(r)-floor-n-1)
		}
		return saved < over
	})
	for _, r := range chosen {
		if over > 0 && level < c.size(r) {
			c.cuts[r.ID] = level
		}
	}
}

// size returns the tokens of a message's own text and calls as shown.
func (c *choice) size(r *raw) int { return r.cost(c.cuts[r.ID]) - r.frame }

// groupEnd returns the end of the group of message i: itself, or a call with its results.
func (c *choice) groupEnd(i int) int {
	group := c.all[i].group
	for i < len(c.all) && c.all[i].group == group {
		i++
	}
	return i
}

// finish renders a prompt, with its snapshot.
func (b *builder) finish(l *layout, e *store.Epoch, reason string) Prompt {
	var p Prompt
	p.Messages, p.Sources, p.Foreign = l.render()
	p.CachePrefix = len(p.Messages)
	p.Snapshot = b.snapshot(l, e)
	p.Snapshot.NewEpoch, p.Cut = reason, l.cutOfInputs()
	p.Compress = b.plan == Long && b.crowded(l, e, p.Snapshot)
	p.Pressure = b.Turn.Segment != 0 && (reason != "" && p.Snapshot.Dropped > 0 || b.plan != Truncate &&
		b.pressed(l, p.Snapshot.Total))
	return p
}

// cutOfInputs returns how much of the turn's own messages is not shown.
func (l *layout) cutOfInputs() (c store.Cut) {
	for i := range l.all {
		r := &l.all[i]
		if !r.input {
			continue
		}
		c.Of += r.text
		if !l.kept(i) {
			c.Out += r.text
		} else if short := l.cuts[r.ID]; short > 0 && short < r.text {
			c.Out += r.text - short
		}
	}
	return c
}

// pressed reports whether the prompt is nearly full while it has uncovered messages that the next epoch would have to
// carry: any before the last KeepLast, or more than the remaining room.
func (b *builder) pressed(l *layout, total int) bool {
	full := b.budgets.Pressure * float64(b.cap)
	if float64(total) <= full {
		return false
	}
	tokens, before := 0, false
	l.each(func(i int, r *raw, _ bool) {
		if !r.Covered && !r.input && r.Role != core.RoleTool {
			tokens += r.cost(l.cuts[r.ID])
			before = before || i < len(l.all)-b.budgets.KeepLast
		}
	})
	return before || float64(tokens) > float64(b.cap)-full
}

// middle returns s if it has at most limit tokens, else its beginning and end around mark(tokens left out), at most
// limit tokens in all. If nothing of s fits it returns the mark, or nothing. total is the number of tokens of s.
func middle(s string, total, limit int, t core.Tokenizer, mark func(tokens int) string) string {
	if total <= limit || s == "" {
		return s
	}
	frame := t.Count(mark(total)) + 2
	room := limit - frame
	// Begin with twice the length of the room at the mean length of a token, so that the
	// loop approaches the bound from above.
	keep := min(len(s)-1, (len(s)/max(total, 1)+1)*room*2)
	for ; room > 0 && keep > 0; keep = keep * 7 / 8 {
		first := s[:text.RuneStart(s, keep*2/3)]
		last := s[text.RuneStart(s, len(s)-keep/3):]
		if kept := t.Count(first) + t.Count(last); kept <= room {
			return first + mark(max(1, total-kept)) + last
		}
	}
	if t.Count(mark(total)) <= limit {
		return mark(total)
	}
	return ""
}

// Middle returns s in at most limit tokens: whole, or with a mark in place of its middle.
func Middle(s string, limit int, t core.Tokenizer) string {
	return middle(s, t.Count(s), limit, t, leftOutMark)
}

func leftOutMark(tokens int) string { return fmt.Sprintf("\n[… %d tokens left out]\n", tokens) }

func toolMark(tokens int) string {
	return fmt.Sprintf("\n[… %d tokens of tool output trimmed]\n", tokens)
}

func textMark(id core.MessageID) func(tokens int) string {
	return func(tokens int) string {
		return fmt.Sprintf("\n[… %d tokens of this message, #%d, left out]\n", tokens, id)
	}
}

// clip returns the longest beginning of s, up to a space if there is one near, that has at
// most limit tokens with a final … if it was cut.
func clip(s string, limit int, t core.Tokenizer) string {
	s = strings.TrimSpace(s)
	if limit <= 0 {
		return ""
	}
	if len(s) <= limit || len(s) <= 16*limit && t.Count(s) <= limit {
		return s
	}
	for keep := min(len(s)-1, 16*limit); keep > 0; keep = keep * 7 / 8 {
		head := s[:text.RuneStart(s, keep)]
		if space := strings.LastIndexAny(head, " \n"); space > len(head)*3/4 {
			head = head[:space]
		}
		head = strings.TrimRight(head, " \n,;:") + "…"
		if t.Count(head) <= limit {
			return head
		}
	}
	return ""
}
