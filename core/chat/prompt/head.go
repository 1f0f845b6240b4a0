package prompt

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/text"
	"github.com/everthread/everthread/core/text/markup"
)

// Names of parts. partMessages is all but the head.
const (
	partThread   = "thread"
	partGroup    = "group"
	partUser     = "user"
	partThemes   = "themes"
	partDays     = "days"
	partHistory  = "history"
	partLast     = "last"
	partLoops    = "loops"
	partToday    = "today"
	partMessages = "messages"
)

const (
	maxLoops   = 5
	loopTokens = 80 // of one loop's text
	oldLoop    = 7 * 24 * time.Hour
	mostDays   = 14
	dayTokens  = 40 // of one day's text
	// Floors are the tokens that a part keeps when it is cut, while there is any room.
	lastFloor, loopsFloor, todayFloor, staticFloor = 75, 60, 125, 32
)

type part struct {
	store.HeadPart
	frame int // tokens of the frame of the notes
	floor int // tokens that remain when it is cut
}

type head []part

const noRoom = "no room in the prompt"

// cutHead cuts up to over tokens from the parts that depend on the conversation: history,
// last conversation, then loops, then today's summary. With all it removes them instead.
func (b *builder) cutHead(h head, over int, all bool) {
	for _, name := range []string{partHistory, partDays, partLast, partLoops, partToday} {
		for i := range h {
			if p := &h[i]; p.Name == name && over > 0 {
				before := h.cost()
				b.cutPart(p, over, all)
				over -= before - h.cost()
			}
		}
	}
}

func (b *builder) cutPart(p *part, over int, all bool) {
	if p.Name == partDays {
		p.HeadPart = store.HeadPart{Name: p.Name}
	} else if limit := max(p.Tokens-over, p.floor); !all && limit < p.Tokens {
		p.HeadPart = b.dynamicPart(p.Name, limit)
	}
	if all && p.Text != "" {
		p.HeadPart = store.HeadPart{Name: p.Name, Error: noRoom}
	}
}

// newHead renders the head of a new epoch. The static parts leave reserve of the cap.
func (b *builder) newHead(reserve int) head {
	h := b.staticParts(b.cap - reserve)
	if b.plan == Truncate {
		return h
	}
	dynamic := []struct {
		name         string
		limit, floor int
	}{{partLast, b.budgets.Last, lastFloor}, {partLoops, b.budgets.Loops, loopsFloor},
		{partToday, b.budgets.TodaySummary, todayFloor}}
	if b.plan == Long { // the history itself replaces summaries
		dynamic = dynamic[1:2]
	}
	frame := frame(b.nonce, b.Tokens)
	for _, d := range dynamic {
		if p := b.dynamicPart(d.name, d.limit); p.Text != "" || p.Error != "" {
			h = append(h, part{p, frame, d.floor})
		}
	}
	return h
}

// dynamicPart returns a part that depends on the conversation, in at most limit tokens.
func (b *builder) dynamicPart(name string, limit int) store.HeadPart {
	w := &b.Window
	if err := w.Failed[name]; err != "" {
		return store.HeadPart{Name: name, Error: err}
	}
	switch name {
	case partHistory:
		return b.historyPart(limit)
	case partLast:
		return b.lastPart(w.Last, w.LastSummary, limit)
	case partLoops:
		return b.loopsPart(w.Loops, limit)
	}
	return b.todayPart(w.Today, w.TodaySummary, limit)
}

// staticParts renders the parts of the caller, and cuts the longest ones until all take at most limit tokens.
func (b *builder) staticParts(limit int) head {
	var h head
	frame := frame(b.nonce, b.Tokens)
	for _, s := range b.Static {
		if p := b.staticPart(s); p.Text != "" || p.Error != "" {
			h = append(h, part{HeadPart: p, frame: frame})
		}
	}
	for over := h.cost() - limit; over > 0; over = h.cost() - limit {
		longest := slices.MaxFunc(h, func(x, y part) int { return cmp.Compare(x.cuttable(), y.cuttable()) })
		i := slices.IndexFunc(h, func(p part) bool { return p.cuttable() == longest.cuttable() })
		if longest.cuttable() <= staticFloor {
			break
		}
		h[i].HeadPart = b.cutStatic(longest.HeadPart, max(longest.Tokens-over, staticFloor))
	}
	return h
}

// cuttable returns the tokens of a static part that may be cut: none of standing instructions.
func (p part) cuttable() int {
	if p.Name == core.PartStanding {
		return 0
	}
	return p.Tokens
}

// staticPart renders a part of the caller.
func (b *builder) staticPart(s Static) store.HeadPart {
	p := store.HeadPart{Name: s.Name, Error: s.Error}
	if s.Load != nil {
		var err error
		if s.Text, p.Tainted, err = s.Load(); err != nil {
			p.Error = err.Error()
		}
	} else if s.Error != "" {
		return p
	}
	p.Text, p.Tokens = s.Text, b.Tokens.Count(s.Text)
	return p
}

func (b *builder) cutStatic(p store.HeadPart, limit int) store.HeadPart {
	if derived(&p) { // JSON cannot be cut
		return store.HeadPart{Name: p.Name, Error: noRoom}
	}
	text := middle(p.Text, p.Tokens, limit, b.Tokens, leftOutMark)
	tokens := b.Tokens.Count(text)
	return store.HeadPart{Name: p.Name, Text: text, Tokens: tokens,
		Error: fmt.Sprintf("cut from %d to %d tokens: too long for the prompt", p.Tokens, tokens)}
}

// lastPart shows the newest earlier day.
func (b *builder) lastPart(g core.Segment, s *core.Summary, limit int) store.HeadPart {
	p := store.HeadPart{Name: partLast, Segment: g.ID}
	switch {
	case g.ID == 0:
		return store.HeadPart{}
	case s == nil:
		n := b.lastNote(g)
		n.Text = "There is no summary of that day yet."
		p.Text = core.DataLine(n)
		p.Tokens = b.Tokens.Count(p.Text)
		p.Error = "there is no summary of " + g.Day.Label + " yet"
	default:
		p.Version, p.Tainted = s.Version, s.Tainted
		p.Text, p.Tokens = b.summaryLine(b.lastNote(g), s, limit)
	}
	return p
}

// todayPart shows the summary of the turn's own day so far.
func (b *builder) todayPart(g core.Segment, s *core.Summary, limit int) store.HeadPart {
	if s == nil {
		return store.HeadPart{}
	}
	p := store.HeadPart{Name: partToday, Segment: g.ID, Version: s.Version, Tainted: s.Tainted}
	p.Text, p.Tokens = b.summaryLine(note{Is: isToday, Day: longDate(g.Day.Label)}, s, limit)
	return p
}

// summaryLine returns the line of a day's summary, in at most limit tokens.
func (b *builder) summaryLine(n note, s *core.Summary, limit int) (line string, tokens int) {
	n.From, n.Foreign = sources(s.Covers), s.Tainted
	markdown := withoutLoops(s.Markdown)
	return b.fit(n, limit, func(room int) string { return condense(markdown, room, b.Tokens) })
}

// lastNote returns the note of an earlier day, without its text. The day before the turn's is also named yesterday.
func (b *builder) lastNote(g core.Segment) note {
	n := note{Is: isLast, Day: longDate(g.Day.Label)}
	today, err := time.Parse(time.DateOnly, b.Window.Today.Day.Label)
	if err == nil && today.AddDate(0, 0, -1).Format(time.DateOnly) == g.Day.Label {
		n.Is = isYesterday
	}
	return n
}

// longDate returns a label with its weekday, such as Thu 19 Nov 2026.
func longDate(label string) string {
	d, err := time.Parse(time.DateOnly, label)
	if err != nil {
		return label
	}
	return d.Format("Mon 2 Jan 2006")
}

// loopsPart lists open loops that are not stale, newest first, while there is room. Those
// that nobody mentioned for a week come last.
func (b *builder) loopsPart(loops []core.Loop, limit int) store.HeadPart {
	loops = slices.DeleteFunc(slices.Clone(loops), func(l core.Loop) bool { return l.Stale(b.Now) })
	slices.SortStableFunc(loops, func(x, y core.Loop) int {
		return cmp.Or(b.age(x)-b.age(y), y.OpenedAt.Compare(x.OpenedAt), cmp.Compare(y.ID, x.ID))
	})
	p := store.HeadPart{Name: partLoops}
	var lines []string
	for _, l := range loops[:min(len(loops), maxLoops)] {
		n := loopNote(l, b.Zone)
		n.Text = clip(text.OneLine(l.Text), loopTokens, b.Tokens)
		line := core.DataLine(n)
		tokens := b.Tokens.Count(line) + 1
		if p.Tokens+tokens > limit && len(p.Loops) == 0 {
			line, tokens = b.fit(loopNote(l, b.Zone), limit-1,
				func(room int) string { return clip(text.OneLine(l.Text), room, b.Tokens) })
			tokens++
		}
		if p.Tokens+tokens > limit {
			break
		}
		lines, p.Tokens, p.Loops, p.Tainted = append(lines, line), p.Tokens+tokens, append(p.Loops, l.ID),
			p.Tainted || l.Tainted
	}
	p.Text = strings.Join(lines, "\n")
	return p
}

// loopNote returns the note of a loop, without its text.
func loopNote(l core.Loop, zone *time.Location) note {
	return note{Is: isLoop, Loop: l.ID, Since: l.OpenedAt.In(zone).Format("Mon 2 Jan 2006"),
		From: sources(core.NewIDSet(l.Sources...)), Foreign: l.Tainted}
}

// age is 1 for a loop that nobody mentioned for a week, else 0.
func (b *builder) age(l core.Loop) int {
	if b.Now.Sub(l.Mentioned) > oldLoop && b.Now.Sub(l.OpenedAt) > oldLoop {
		return 1
	}
	return 0
}

// daysPart shows the gist of an earlier day in one line.
func (b *builder) daysPart(s core.Summary) store.HeadPart {
	gist := s.Markdown
	if all := sections(gist); len(all) > 0 {
		gist = strings.Join(all[0].blocks, " ")
	}
	n := note{Is: isDay, Day: longDate(s.Label), From: sources(s.Covers), Foreign: s.Tainted,
		Text: clip(text.OneLine(markup.StripRefs(gist)), dayTokens, b.Tokens)}
	p := store.HeadPart{Name: partDays, Segment: s.Segment, Version: s.Version, Tainted: s.Tainted, Text: core.DataLine(n)}
	p.Tokens = b.Tokens.Count(p.Text)
	return p
}

// addDays puts one line for each of the last days before the last conversation, the newest days, as far as the start of
// an epoch leaves room.
func (c *choice) addDays() {
	if err := c.Window.Failed[partDays]; err != "" {
		c.head = append(c.head, part{HeadPart: store.HeadPart{Name: partDays, Error: err}})
	}
	room := c.budgets.target(c.plan) - c.recount()
	at := slices.IndexFunc(c.head, func(p part) bool { return p.Name == partLast })
	if at < 0 || c.plan != Continuous {
		return
	}
	frame := frame(c.builder.nonce, c.Tokens)
	for _, s := range c.Window.Days[:min(len(c.Window.Days), mostDays)] {
		p := c.daysPart(s)
		if room -= p.Tokens + 1; room < 0 {
			return
		}
		c.head = slices.Insert(c.head, at, part{p, frame, 0}) // the oldest first
	}
}
