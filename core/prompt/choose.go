package prompt

import (
	"github.com/everthread/everthread/core"
)

const (
	toolFloor  = 200 // tokens that an earlier tool output keeps, as the store counts on
	proseFloor = 24  // tokens that any message keeps: room for the mark of what is left out
	keepTail   = 10  // newest messages that truncate keeps
)

// choice is which of the loaded messages an epoch begins with.
type choice struct {
	*builder
	*layout
	must      []bool // never dropped: the newest, the inputs, the first of truncate
	uncovered []bool // of a turn that no summary covers
	earlier   bool   // there are messages before the loaded ones
}

func (b *builder) newChoice(l *layout) *choice {
	n := len(l.all)
	c := &choice{builder: b, layout: l, must: make([]bool, n), uncovered: make([]bool, n)}
	// A plain thread's window may begin where the epoch did.
	e := b.Window.Epoch
	c.earlier = b.Window.More || b.Turn.Segment == 0 && e != nil && e.Truncated && b.reaches()
	last := b.budgets.KeepLast
	if b.plan == Truncate {
		last = max(last, keepTail)
	}
	groups := map[int]bool{}
	for i := range l.all {
		if r := &l.all[i]; r.input || i >= n-last || i == 0 && b.plan == Truncate {
			groups[r.group] = true
		}
	}
	uncovered := map[int]bool{}
	for i := range l.all {
		r := &l.all[i]
		c.must[i] = groups[r.group]
		uncovered[r.turn] = uncovered[r.turn] || !r.Covered && r.Role != core.RoleTool
	}
	for i := range l.all {
		c.uncovered[i] = uncovered[l.all[i].turn]
	}
	l.keep = make([]bool, n)
	l.head = b.newHead(c.reserve())
	if b.plan == Long {
		c.addHistory()
	}
	return c
}

// reserve is what the static parts have to leave: the messages that must stay,
// and the smallest other parts, as long as that is not more than half.
func (c *choice) reserve() int {
	need := lastFloor + loopsFloor + todayFloor
	for i := range c.all {
		if c.must[i] {
			need += c.all[i].cost(0) + 20
		}
	}
	return min(need, c.builder.cap/2)
}

// choose keeps what is wanted and makes it fit in the target: tool outputs are
// cut first, then covered turns are dropped, oldest first. What must stay and
// what is uncovered may be more than the target.
func (c *choice) choose() {
	target, count := c.wanted()
	over := func() int { return c.recount() - target }
	for i := range c.all {
		if c.keep[i] && c.all[i].Role == core.RoleTool {
			c.shorten(i, over(), toolFloor)
		}
	}
	for i, kept := 0, -1; i < len(c.all); i = c.turnEnd(i) {
		if n := c.count(); n != kept { // else it is as large as it was
			kept = n
			if over() <= 0 && c.rawFits() && kept <= count {
				return
			}
		}
		c.dropTurn(i, c.plan != Continuous)
	}
}

// wanted marks the messages that an epoch is to begin with, and returns in how
// many tokens and messages they are to fit.
func (c *choice) wanted() (target, count int) {
	count = len(c.all)
	if c.plan == Continuous {
		c.wantDays()
		return c.budgets.target(c.plan), count
	}
	c.keepAll()
	if c.plan == Long {
		return max(c.budgets.most(), c.head.cost()), count
	}
	if !c.Window.More && c.recount() <= c.builder.cap && count <= c.budgets.MaxHistoryMessages {
		return c.builder.cap, count
	}
	// A third is left to grow, so that not every message cuts the middle again.
	return c.budgets.target(c.plan), max(c.budgets.MaxHistoryMessages*2/3, 1)
}

func (c *choice) keepAll() {
	for i := range c.keep {
		c.keep[i] = true
	}
}

// wantDays marks the turn's own day, what is uncovered, and of earlier days the
// newest turns until there are enough or the target is reached.
func (c *choice) wantDays() {
	room := min(c.budgets.Raw, c.budgets.target(c.plan)-c.head.cost())
	for turns, end := 0, len(c.all); end > 0; {
		start := c.turnStart(end - 1)
		today := c.all[start].Segment == c.Turn.Segment
		if !today && (turns >= c.budgets.MinTurns || c.turnCost(start, end, true) > room) {
			room = 0 // no turn from before one that is left out
		}
		for i := start; i < end; i++ {
			c.keep[i] = c.must[i] || c.uncovered[i] || today || room > 0
		}
		if size := c.turnCost(start, end, false); size > 0 {
			turns, room = turns+1, room-size
		}
		end = start
	}
}

// turnCost is what the messages of a turn take, or those of them that are kept.
func (c *choice) turnCost(start, end int, all bool) int {
	size := 0
	for i := start; i < end; i++ {
		if all || c.keep[i] {
			size += c.all[i].cost(c.toolLimit(i))
		}
	}
	return size
}

func (c *choice) toolLimit(i int) int {
	if c.all[i].Role == core.RoleTool {
		return toolFloor
	}
	return 0
}

// rawFits reports whether no covered message stands beyond the budget of raw ones.
func (c *choice) rawFits() bool {
	return c.plan != Continuous || c.messagesCost() <= c.budgets.Raw
}

// recount returns what the prompt takes, with the mark if something is missing.
func (c *choice) recount() int {
	c.truncated = c.earlier || c.count() < len(c.all)
	return c.layout.cost()
}

func (c *choice) count() int {
	n := 0
	for _, keep := range c.keep {
		if keep {
			n++
		}
	}
	return n
}

func (c *choice) turnStart(i int) int {
	for i > 0 && c.all[i-1].turn == c.all[i].turn {
		i--
	}
	return i
}

func (c *choice) turnEnd(i int) int {
	turn := c.all[i].turn
	for i < len(c.all) && c.all[i].turn == turn {
		i++
	}
	return i
}

// dropTurn drops what it may of the turn that starts at i.
func (c *choice) dropTurn(i int, uncovered bool) {
	for end := c.turnEnd(i); i < end; i++ {
		if !c.must[i] && (uncovered || !c.uncovered[i]) {
			c.keep[i] = false
		}
	}
}

// shorten takes up to over tokens off message i, to no less than floor.
func (c *choice) shorten(i, over, floor int) {
	r := &c.all[i]
	now := c.size(r)
	if limit := max(now-over, floor); limit < now {
		c.cuts[r.ID] = limit
	}
}

// fix records the choice in its epoch.
func (c *choice) fix(e *core.Epoch) {
	c.recount()
	e.Truncated = c.truncated
	started := false
	for i := range c.all {
		r := &c.all[i]
		switch {
		case !c.keep[i] && started:
			e.Skip = append(e.Skip, r.ID)
		case c.keep[i] && !started:
			e.Start, started = r.Position, true
		}
	}
	c.gap = c.plan == Truncate && len(e.Skip) > 0
	for _, p := range c.head {
		h := p.HeadPart
		if len(h.Pages) > 0 {
			h.Text = "" // put together from the pages again
		}
		e.Head = append(e.Head, h)
	}
	for i := range c.all {
		if n := c.cuts[c.all[i].ID]; n > 0 && c.keep[i] {
			if e.Cuts == nil {
				e.Cuts = map[core.MessageID]int{}
			}
			e.Cuts[c.all[i].ID] = n
		}
	}
}
