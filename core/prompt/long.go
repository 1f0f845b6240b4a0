package prompt

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/everthread/everthread/core"
)

// historyTitle begins what stands of old messages in a prompt of the strategy long.
const historyTitle = `[What was said before, oldest first; "…" stands where something is left out. "#12:" begins what the user said in message 12, "#13 me:" what you answered. conversation_get shows a message whole, conversation_search finds what is older still.]`

// role is who a part of the head comes from. History is words of the conversation,
// with no more weight than they had.
func (p *part) role() core.Role {
	if p.Name == partHistory {
		return core.RoleUser
	}
	return core.RoleSystem
}

// goneMark stands in a prompt of earlier for what is not as it was. %d is how many
// of %d pages.
const goneMark = "\n\n[%d of %d pages of this prompt are gone: something on them was edited, forgotten or brought in since. They were made anew.]"

// headOf is the head of an epoch, with its history put together from pages.
func headOf(e *core.Epoch, pages []core.Page) head {
	var h head
	for _, p := range e.Head {
		if n := len(p.Pages); n > 0 {
			shown := named(p.Pages, pages)
			if p.Text = historyText(shown); len(shown) < n {
				p.Text = cmp.Or(p.Text, historyTitle) + fmt.Sprintf(goneMark, n-len(shown), n)
			}
		}
		h = append(h, part{HeadPart: p})
	}
	return h
}

// named returns those of pages that refs name.
func named(refs []core.PageRef, pages []core.Page) []core.Page {
	wanted := make(map[core.PageRef]bool, len(refs))
	for _, r := range refs {
		wanted[r] = true
	}
	return slices.DeleteFunc(slices.Clone(pages), func(p core.Page) bool { return !wanted[core.PageRef{Page: p.ID, Tier: p.Tier}] })
}

func historyText(pages []core.Page) string {
	if len(pages) == 0 {
		return ""
	}
	var text strings.Builder
	text.WriteString(historyTitle)
	for _, p := range pages {
		if t := p.Forms[p.Tier].Text; t != "" {
			text.WriteString("\n\n")
			text.WriteString(t)
		}
	}
	return text.String()
}

// pageTokens is what a page takes of a prompt.
func pageTokens(p *core.Page) int {
	if p.Forms[p.Tier].Text == "" {
		return 0
	}
	return p.Forms[p.Tier].Tokens + 1
}

// addHistory ends the head with as many of the newest pages as fit beside the raw
// messages.
func (c *choice) addHistory() {
	c.keepAll()
	if p := c.historyPart(c.budgets.most() - c.recount()); p.Text != "" {
		c.head = append(c.head, part{HeadPart: p, shrink: c.historyPart})
	}
}

// historyPart shows the newest pages that fit in limit tokens.
func (b *builder) historyPart(limit int) core.HeadPart {
	p := core.HeadPart{Name: partHistory, Tokens: b.Tokens.Count(historyTitle) + 2}
	pages := b.Window.Pages
	first := len(pages)
	for first > 0 && p.Tokens+pageTokens(&pages[first-1])+perMessage <= limit {
		first--
		p.Tokens += pageTokens(&pages[first])
	}
	for i := first; i < len(pages); i++ {
		if pages[i].Forms[pages[i].Tier].Text != "" {
			p.Pages = append(p.Pages, core.PageRef{Page: pages[i].ID, Tier: pages[i].Tier})
		}
	}
	if len(p.Pages) == 0 {
		return core.HeadPart{Name: partHistory}
	}
	p.Text = historyText(pages[first:])
	return p
}

// historyCount says what the pages hold that a prompt shows.
func (b *builder) historyCount(l *layout) *core.HistoryCount {
	var n core.HistoryCount
	i := slices.IndexFunc(l.head, func(p part) bool { return p.Name == partHistory })
	if i >= 0 {
		n.Tokens = l.head[i].Tokens
		countPages(&n, named(l.head[i].Pages, b.Window.Pages))
	}
	n.LeftOut = b.Window.PagesBefore - n.Pages
	for i := range b.Window.Pages {
		if p := &b.Window.Pages[i]; p.Stale || pageTokens(p) > 0 {
			n.LeftOut++
		}
	}
	n.UserTotal = n.UserTokens
	l.each(func(_ int, r *raw, _ bool) {
		if r.Role == core.RoleUser {
			n.UserTotal += r.cost(l.cuts[r.ID])
		}
	})
	return &n
}

func countPages(n *core.HistoryCount, pages []core.Page) {
	for i := range pages {
		p := &pages[i]
		f := p.Forms[p.Tier]
		n.Pages++
		n.Messages += p.Messages
		n.Original += p.Original
		n.Raw += f.Raw
		n.Summarized += f.Summarized
		n.References += f.References
		n.Omitted += f.Omitted
		n.UserTokens += f.UserTokens
	}
}

// crowded tells whether compressing old messages would make room that is wanted:
// the prompt is near where compression starts, and has more raw messages than it
// needs or pages that can be shortened. Within an epoch it is so only now and then:
// what was compressed meanwhile shows in the next one.
func (b *builder) crowded(l *layout, e *core.Epoch, s core.Snapshot) bool {
	if b.Turn.Segment == 0 {
		return false
	}
	shorter := false
	for i := range b.Window.Pages {
		p := &b.Window.Pages[i]
		if p.Stale {
			return true
		}
		shorter = shorter || p.Tier < core.MaxTier
	}
	spare := b.budgets.LongRaw / 8
	full := s.Total >= b.budgets.target(Long)*19/20 || b.Window.More || s.History.LeftOut > 0
	wanted := full && (l.messagesCost() > b.budgets.LongRaw+spare || shorter && s.History.LeftOut > 0)
	return wanted && (e.ID == b.Turn.ID || b.grew(l, e, max(spare, 1)))
}

// grew tells whether what came since the prompt before has brought what the epoch
// has grown by over another multiple of step.
func (b *builder) grew(l *layout, e *core.Epoch, step int) bool {
	all, fresh := 0, 0
	l.each(func(_ int, r *raw, _ bool) {
		if r.Turn < e.ID {
			return
		}
		cost := r.cost(l.cuts[r.ID])
		all += cost
		if fresh += cost; r.Role == core.RoleUser && r.Turn != b.Turn.ID {
			fresh = 0 // the prompt before ended here
		}
	})
	return all/step > (all-fresh)/step
}
