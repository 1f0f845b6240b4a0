package compress

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

// page makes a page of consecutive messages of one day, with its fingerprints and references.
func (r *round) page(ctx context.Context, ms []core.Message) (store.PutPages, error) {
	p := store.Page{User: r.job.User, Thread: r.thread, Messages: len(ms), Tier: store.TierOlder}
	out := store.PutPages{Repeats: map[core.MessageID][]core.MessageID{}}
	zone := r.user.Settings.Location(r.Calendar.Zone)
	texts := [store.MaxTier + 1]sheet{}
	for i := range ms {
		m := &ms[i]
		p.Segment, p.Start, p.End = m.Segment, cmp.Or(p.Start, m.Position), m.Position
		p.First, p.Last = min(cmp.Or(p.First, m.ID), m.ID), max(p.Last, m.ID)
		p.Original += m.Tokens
		repeats, err := r.repeats(ctx, &out, m)
		if err != nil {
			return out, err
		}
		for tier, form := range r.Compressor.Forms(m, repeats) {
			texts[tier].add(m, form, zone)
		}
	}
	for tier := store.TierOlder; tier <= store.MaxTier; tier++ {
		p.Forms[tier] = texts[tier].form(r.Compressor)
		if before := p.Forms[tier-1]; tier > store.TierOlder && p.Forms[tier].Tokens > before.Tokens {
			p.Forms[tier] = before // marks for many short messages are longer than these
		}
	}
	out.Pages = []store.Page{p}
	return out, nil
}

// sheet builds a page at one tier.
type sheet struct {
	text        strings.Builder
	user        strings.Builder // the user's lines only
	date        string
	f           store.PageForm
	first, last core.MessageID // of the user's omitted messages
}

// add writes a line for a message: its id, its speaker, and its form.
func (s *sheet) add(m *core.Message, f Form, zone *time.Location) {
	switch {
	case f.Text == "":
		s.leave(m)
		return
	case f.State == Reference:
		s.f.References++
	case f.State == Raw:
		s.f.Raw++
	default:
		s.f.Summarized++
	}
	if date := m.SentAt.In(zone).Format("Mon 2 Jan 2006"); date != s.date {
		if s.text.Len() > 0 {
			s.text.WriteByte('\n')
		}
		s.date = date
		fmt.Fprintf(&s.text, "## %s", date)
	}
	line := fmt.Sprintf("\n#%d%s: %s", m.ID, speaker(m), closed(unlike(f.Text)))
	s.text.WriteString(line)
	if m.Role == core.RoleUser {
		s.user.WriteString(line)
	}
}

// speaker returns the speaker of a message, empty for the user's own words.
func speaker(m *core.Message) string {
	switch {
	case m.Role != core.RoleUser:
		return " me"
	case m.Task != nil:
		return " (a task of theirs that was due)"
	case m.ForwardedFrom != "":
		return " (forwarded)"
	}
	return ""
}

// closed closes a code block at the end of a text, so that it does not swallow the lines after it.
func closed(text string) string {
	pieces := split(text + "\n.")
	if last := pieces[len(pieces)-1]; last.kind == fenced {
		return text + "\n" + fenceOf(text[last.start:lineEnd(text, last.start)])
	}
	return text
}

// leave notes that a message is left out. The user's are named.
func (s *sheet) leave(m *core.Message) {
	s.f.Omitted++
	if m.Role == core.RoleUser && strings.TrimSpace(m.Text) != "" {
		s.first, s.last = min(cmp.Or(s.first, m.ID), m.ID), max(s.last, m.ID)
	}
}

// mark names the user's omitted messages, which are most of the oldest, in one line.
func (s *sheet) mark() {
	if s.first == 0 {
		return
	}
	if s.text.Len() > 0 {
		s.text.WriteByte('\n')
	}
	fmt.Fprintf(&s.text, "#%d", s.first)
	if s.last > s.first {
		fmt.Fprintf(&s.text, "–#%d", s.last)
	}
	s.text.WriteString(": " + left)
}

func (s *sheet) form(c *Compressor) store.PageForm {
	s.mark()
	s.f.Text = s.text.String()
	s.f.Tokens, s.f.UserTokens = c.tokens.Count(s.f.Text), c.tokens.Count(s.user.String())
	return s.f
}

// likeLine matches the beginning of a line that resembles that of a message or a day.
var likeLine = regexp.MustCompile(`([\n\r\v\f\x{85}\x{2028}\x{2029}])(#\d+(?: me| \([^)\n]*\)|–#\d+)?:|## \w{3} \d)`)

// unlike keeps a text from imitating other messages. Fenced code stays unchanged: it cannot be mistaken for a message.
func unlike(text string) string {
	var out strings.Builder
	at := 0
	for _, p := range split(text) {
		if p.kind == fenced {
			out.WriteString(likeLine.ReplaceAllString(text[at:p.start], "$1 $2") + p.of(text))
			at = p.end
		}
	}
	out.WriteString(likeLine.ReplaceAllString(text[at:], "$1 $2"))
	return out.String()
}

// candidatesOf is the number of earlier messages to compare for a fingerprint.
const candidatesOf = 4

// repeats returns the pieces of a user's message that repeat earlier ones, and adds its fingerprints to out.
func (r *round) repeats(ctx context.Context, out *store.PutPages, m *core.Message) ([]Repeat, error) {
	if m.Role != core.RoleUser {
		return nil, nil
	}
	prints := r.Compressor.Prints(m)
	if len(prints) == 0 {
		return nil, nil
	}
	candidates, err := r.candidates(ctx, prints, out.Prints)
	if err != nil {
		return nil, fmt.Errorf("find repetition: %w", err)
	}
	repeats := r.Compressor.Repeats(m.Text, candidates)
	for _, x := range repeats {
		out.Repeats[m.ID] = append(out.Repeats[m.ID], x.Of)
	}
	out.Prints = append(out.Prints, prints...)
	return repeats, nil
}

// candidates returns the earlier pieces, in the store and on this page, that share a band with those of a message.
func (r *round) candidates(ctx context.Context, prints, page []store.Printed) (map[int][]Candidate, error) {
	pieces := map[int64][]int{} // by their bands
	for _, p := range prints {
		pieces[p.Band] = append(pieces[p.Band], p.Piece)
	}
	before := prints[0].Message
	found, err := r.Store.Printed(ctx, r.job.User, slices.Sorted(maps.Keys(pieces)), before, candidatesOf)
	if err != nil {
		return nil, err
	}
	for _, p := range page {
		if pieces[p.Band] != nil && p.Message < before {
			found = append(found, p)
		}
	}
	if len(found) == 0 {
		return nil, nil
	}
	var ids []core.MessageID
	for _, f := range found {
		ids = append(ids, f.Message)
	}
	slices.Sort(ids)
	ms, err := r.Store.Messages(ctx, r.job.User, slices.Compact(ids))
	if err != nil {
		return nil, err
	}
	out := map[int][]Candidate{}
	for _, f := range found {
		for _, piece := range pieces[f.Band] {
			for _, m := range ms {
				c := Candidate{Message: f.Message, Piece: f.Piece, Text: m.Text}
				if m.ID == f.Message && !slices.Contains(out[piece], c) {
					out[piece] = append(out[piece], c)
				}
			}
		}
	}
	return out, nil
}
