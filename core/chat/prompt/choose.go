package prompt

import (
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

const (
	toolFloor  = 200 // tokens that an earlier tool output keeps; the store relies on it
	proseFloor = 24  // tokens that any message keeps: room for the mark of the cut
	keepTail   = 10  // newest messages that truncate keeps
)

// choice selects the loaded messages that an epoch begins with.
type choice struct {
	*builder
	*layout
	must      []bool // not dropped: the newest, the inputs, the first of truncate
	uncovered []bool // in a turn that no summary covers
	earlier   bool   // there are messages before the loaded ones
}

func (b *builder) newChoice(l *layout) *choice {
	n := len(l.all)
	c := &choice{builder: b, layout: l, must: make([]bool, n), uncovered: make([]bool, n)}
	// The window of a plain thread may begin where the epoch did.
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

// reserve returns the tokens that the static parts must leave: those of the messages that
// are not dropped and of the smallest other parts, at most half of the cap.
func (c *choice) reserve() int {
	need := lastFloor + loopsFloor + todayFloor
	for i := range c.all {
		if c.must[i] {
			need += c.all[i].cost(0) + 20
		}
	}
	return min(need, c.builder.cap/2)
}

// choose keeps the wanted messages and fits them into the target: it cuts tool outputs first, then drops covered turns,
// oldest first. Required and uncovered messages may exceed the target.
func (c *choice) choose() {
	target, count := c.wanted()
	over := func() int { return c.recount() - target }
	for i := range c.all {
		if c.keep[i] && c.all[i].Role == core.RoleTool {
			c.shorten(i, over(), toolFloor)
		}
	}
	for i, kept := 0, -1; i < len(c.all); i = c.turnEnd(i) {
		if n := c.count(); n != kept { // otherwise the size is unchanged
			kept = n
			if over() <= 0 && (c.plan != Continuous || c.messagesCost() <= c.budgets.Raw) && kept <= count {
				return
			}
		}
		c.dropTurn(i, c.plan != Continuous)
	}
}

// wanted keeps the messages that an epoch should begin with, and returns how many tokens and messages they may take.
func (c *choice) wanted() (target, count int) {
	count = len(c.all)
	if c.plan == Continuous {
		c.wantDays()
		return c.budgets.target(c.plan), count
	}
	c.keepAll()
	if c.plan == Long {
		return max(c.budgets.longStart(), c.head.cost()), count
	}
	if !c.Window.More && c.recount() <= c.builder.cap && count <= c.budgets.MaxHistoryMessages {
		return c.builder.cap, count
	}
	// A third is left for growth, so that not every message cuts the middle again.
	return c.budgets.target(c.plan), max(c.budgets.MaxHistoryMessages*2/3, 1)
}

func (c *choice) keepAll() {
	for i := range c.keep {
		c.keep[i] = true
	}
}

// wantDays keeps the turn's own day, uncovered messages, and the newest turns of earlier
// days until there are enough or the target is reached.
func (c *choice) wantDays() {
	room := min(c.budgets.Raw, c.budgets.target(c.plan)-c.head.cost())
	for turns, end := 0, len(c.all); end > 0; {
		start := end - 1
		for start > 0 && c.all[start-1].turn == c.all[start].turn {
			start--
		}
		today := c.all[start].Segment == c.Turn.Segment
		if !today && (turns >= c.budgets.MinTurns || c.turnCost(start, end, true) > room) {
			room = 0 // no turn older than a dropped one
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

// turnCost returns the tokens of a turn's messages: all of them, or the kept ones.
func (c *choice) turnCost(start, end int, all bool) int {
	size := 0
	for i := start; i < end; i++ {
		limit := 0
		if c.all[i].Role == core.RoleTool {
			limit = toolFloor
		}
		if all || c.keep[i] {
			size += c.all[i].cost(limit)
		}
	}
	return size
}

// recount returns the size of the prompt, with the mark if a message is missing.
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

func (c *choice) turnEnd(i int) int {
	turn := c.all[i].turn
	for i < len(c.all) && c.all[i].turn == turn {
		i++
	}
	return i
}

// dropTurn drops the turn that starts at i, without required messages, and without
// uncovered ones unless uncovered is true.
func (c *choice) dropTurn(i int, uncovered bool) {
	for end := c.turnEnd(i); i < end; i++ {
		if !c.must[i] && (uncovered || !c.uncovered[i]) {
			c.keep[i] = false
		}
	}
}

// shorten cuts up to over tokens from message i, down to floor.
func (c *choice) shorten(i, over, floor int) {
	r := &c.all[i]
	now := c.size(r)
	if limit := max(now-over, floor); limit < now {
		c.cuts[r.ID] = limit
	}
}

// apart reports whether the first message is kept without the next one, so that the epoch need not reach back to it.
func (c *choice) apart() bool {
	return c.Turn.Mode == core.ModeThread && len(c.all) > 1 && c.keep[0] && c.all[1].group != c.all[0].group &&
		(!c.keep[1] || c.Window.Opener != nil)
}

// fix records the choice in its epoch.
func (c *choice) fix(e *store.Epoch) {
	c.recount()
	e.Truncated = c.truncated
	started := false
	for i := range c.all {
		r := &c.all[i]
		switch {
		case i == 0 && c.apart():
			e.Opener = r.ID
		case !c.keep[i] && started:
			e.Skip = append(e.Skip, r.ID)
		case c.keep[i] && !started:
			e.Start, started = r.Position, true
		}
	}
	c.gap = c.plan == Truncate && (e.Opener != 0 || len(e.Skip) > 0)
	for _, p := range c.head {
		h := p.HeadPart
		if len(h.Pages) > 0 {
			h.Text = "" // assembled from the pages again
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
