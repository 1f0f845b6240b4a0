package prompt

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/text"
)

// historyTitle begins the history of old messages in a prompt of the strategy long.
const historyTitle = `[Earlier conversation, oldest first. "#12:" begins what the user said in message 12, "#13 me:" your answer. "…" marks text that was cut; "#14–#20: …" messages that were left out. conversation_get shows a message in full, conversation_search finds what is older.]`

// goneMark replaces missing pages in a rebuilt prompt. The numbers are those of missing and of all pages.
const goneMark = "\n\n[%d of %d pages of this prompt are gone: something on them was edited, forgotten or brought in since. They were made again.]"

// headOf returns the head of an epoch, with its history assembled from pages.
func (v *view) headOf(e *store.Epoch, pages []store.Page) head {
	var h head
	frame := frame(v.nonce, v.tokens)
	for _, p := range e.Head {
		if n := len(p.Pages); n > 0 {
			shown := named(p.Pages, pages)
			if p.Text = historyText(shown, p.Before); len(shown) < n {
				p.Text = cmp.Or(p.Text, historyTitle) + fmt.Sprintf(goneMark, n-len(shown), n)
			}
		}
		h = append(h, part{HeadPart: p, frame: frame})
	}
	return h
}

// named returns the pages that refs name.
func named(refs []store.PageRef, pages []store.Page) []store.Page {
	wanted := make(map[store.PageRef]bool, len(refs))
	for _, r := range refs {
		wanted[r] = true
	}
	return slices.DeleteFunc(slices.Clone(pages), func(p store.Page) bool {
		return !wanted[store.PageRef{Page: p.ID, Tier: p.Tier}]
	})
}

// historyText joins pages; before is the first message on them if older ones are left out.
func historyText(pages []store.Page, before core.MessageID) string {
	if len(pages) == 0 {
		return ""
	}
	var out strings.Builder
	out.WriteString(historyTitle)
	if before > 0 {
		out.WriteString("\n\n" + leftOut(before))
	}
	day := ""
	for _, p := range pages {
		t := p.Forms[p.Tier].Text
		if t == "" {
			continue
		}
		if rest, same := strings.CutPrefix(t, day+"\n"); day != "" && same {
			out.WriteString("\n" + rest)
		} else {
			out.WriteString("\n\n" + t)
		}
		day = cmp.Or(lastDay(t), day)
	}
	return out.String()
}

// lastDay returns the last heading of a day in the text of a page; empty: it has none.
func lastDay(page string) string {
	all := dayHeading().FindAllString(page, -1)
	if len(all) == 0 {
		return ""
	}
	return all[len(all)-1]
}

var dayHeading = text.Pattern(`(?m)^## \w{3} \d{1,2} \w{3} \d{4}$`)

// leftOut returns the mark of all messages before one.
func leftOut(before core.MessageID) string {
	return fmt.Sprintf("[What stands before message #%d is left out; conversation_search finds it.]", before)
}

func pageTokens(p *store.Page) int {
	if p.Forms[p.Tier].Text == "" {
		return 0
	}
	return p.Forms[p.Tier].Tokens + 1
}

// addHistory ends the head with as many of the newest pages as fit beside the raw messages.
func (c *choice) addHistory() {
	c.keepAll()
	frame := frame(c.builder.nonce, c.Tokens)
	if p := c.historyPart(c.budgets.longStart() - c.recount() - frame); p.Text != "" {
		c.head = append(c.head, part{HeadPart: p, frame: frame})
	}
}

// historyPart shows the newest pages that fit into limit tokens, with a mark if these are not all.
func (b *builder) historyPart(limit int) store.HeadPart {
	pages := b.Window.Pages
	p := store.HeadPart{Name: partHistory, Tainted: true, Tokens: b.Tokens.Count(historyTitle) +
		b.Tokens.Count(leftOut(1<<30)) + 3}
	first, shown := len(pages), len(pages)
	for first > 0 && p.Tokens+pageTokens(&pages[first-1])+perMessage <= limit {
		first--
		if cost := pageTokens(&pages[first]); cost > 0 {
			p.Tokens, shown = p.Tokens+cost, first
		}
	}
	for i := first; i < len(pages); i++ {
		if pages[i].Forms[pages[i].Tier].Text != "" {
			p.Pages = append(p.Pages, store.PageRef{Page: pages[i].ID, Tier: pages[i].Tier})
		}
	}
	if len(p.Pages) == 0 {
		return store.HeadPart{Name: partHistory}
	}
	if first > 0 || b.Window.PagesBefore > 0 {
		p.Before = pages[shown].First
	}
	p.Text = historyText(pages[first:], p.Before)
	return p
}

// historyCount counts the contents of the pages in a prompt.
func (b *builder) historyCount(l *layout, e *store.Epoch) *store.HistoryCount {
	var n store.HistoryCount
	i := slices.IndexFunc(l.head, func(p part) bool { return p.Name == partHistory })
	if i >= 0 {
		n.Tokens = l.head[i].Tokens
		for _, p := range named(l.head[i].Pages, b.Window.Pages) {
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
	if n.LeftOut = e.PagesOut; e.ID == b.Turn.ID {
		n.LeftOut = b.Window.PagesBefore - n.Pages
		for i := range b.Window.Pages {
			if p := &b.Window.Pages[i]; p.Stale || pageTokens(p) > 0 {
				n.LeftOut++
			}
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

// compressed reports whether old messages were compressed since the epoch began, and the
// prompt is long enough to use that.
func (b *builder) compressed(e *store.Epoch, total int) bool {
	return b.plan == Long && b.Window.Compressed > e.Compressed && total >= b.budgets.target(Long)
}

// crowded reports whether compressing old messages would make needed room: the prompt has passed the threshold, and has
// more raw messages than it needs, or pages that can be shortened. Within an epoch that is so when the prompt passes
// the threshold, and then once per step of growth: if compression did not help, nothing could be compressed.
func (b *builder) crowded(l *layout, e *store.Epoch, s store.Snapshot) bool {
	if b.Turn.Segment == 0 {
		return false
	}
	shorter := false
	for i := range b.Window.Pages {
		p := &b.Window.Pages[i]
		if p.Stale {
			return true
		}
		shorter = shorter || p.Tier < store.MaxTier
	}
	threshold, recent := b.budgets.target(Long), b.budgets.LongRaw
	spare := max(recent/4, 1)
	full := s.Total >= threshold || b.Window.More || s.History.LeftOut > 0
	wanted := full && (shorter || l.messagesCost() > recent+spare)
	return wanted && (e.ID == b.Turn.ID || b.grew(l, e, s.Total, threshold, spare))
}

// grew reports whether the messages since the previous prompt brought this one over the
// threshold, or the growth of the epoch over another multiple of step.
func (b *builder) grew(l *layout, e *store.Epoch, total, threshold, step int) bool {
	all, fresh := 0, 0
	l.each(func(_ int, r *raw, _ bool) {
		if r.Turn < e.ID {
			return
		}
		cost := r.cost(l.cuts[r.ID])
		all += cost
		if fresh += cost; r.Role == core.RoleUser && r.Turn != b.Turn.ID {
			fresh = 0 // the previous prompt ended here
		}
	})
	return total >= threshold && total-fresh < threshold || all/step > (all-fresh)/step
}
