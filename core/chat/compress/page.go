package compress

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

// made is a page with its fingerprints and references.
type made struct {
	page    core.Page
	prints  []store.Printed
	repeats map[core.MessageID][]core.MessageID
}

// make makes a page of consecutive messages of one day.
func (r *round) make(ctx context.Context, ms []core.Message) (made, error) {
	out := made{page: core.Page{User: r.job.User, Thread: r.thread, Messages: len(ms), Tier: core.TierOlder},
		repeats: map[core.MessageID][]core.MessageID{}}
	if len(ms) == 0 {
		return out, nil
	}
	given, err := r.shorten(ctx, ms)
	if err != nil {
		return out, err
	}
	p := &out.page
	p.Segment, p.Start, p.End = ms[0].Segment, ms[0].Position, ms[len(ms)-1].Position
	p.First, p.Last = ms[0].ID, ms[0].ID
	zone := r.user.Settings.Location(r.Calendar.Zone)
	texts := make([]sheet, core.MaxTier+1)
	for i := range ms {
		m := &ms[i]
		p.Original, p.First, p.Last = p.Original+m.Tokens, min(p.First, m.ID), max(p.Last, m.ID)
		repeats, err := r.repeats(ctx, &out, ms, m)
		if err != nil {
			return out, err
		}
		forms := r.Compressor.Forms(m, given[m.ID], repeats)
		for tier := core.TierOlder; tier <= core.MaxTier; tier++ {
			length := lengths[tier].assistant
			if m.Role == core.RoleUser {
				length = lengths[tier].user
			}
			texts[tier].add(m, forms[length], zone)
		}
	}
	for tier := core.TierOlder; tier <= core.MaxTier; tier++ {
		p.Forms[tier] = texts[tier].form(r.Tokens)
		if before := p.Forms[tier-1]; tier > core.TierOlder && p.Forms[tier].Tokens > before.Tokens {
			p.Forms[tier] = before // marks for many short messages are longer than these
		}
	}
	return out, nil
}

// sheet builds a page at one tier.
type sheet struct {
	text        strings.Builder
	user        strings.Builder // the user's lines only
	date        string
	f           core.PageForm
	first, last core.MessageID // of the user's omitted messages
}

// add writes a line for a message: its id, its speaker, and its form.
func (s *sheet) add(m *core.Message, f Form, zone *time.Location) {
	switch {
	case f.Text == "":
		s.leave(m)
		return
	case f.RefersTo != 0:
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
	pieces := split(text)
	if len(pieces) == 0 || pieces[len(pieces)-1].kind != fenced {
		return text
	}
	code := pieces[len(pieces)-1].of(text)
	fence := fenceOf(code[:lineEnd(code, 0)])
	if last := code[strings.LastIndexByte(code, '\n')+1:]; strings.Contains(code, "\n") && closes(last, fence) {
		return text
	}
	return text + "\n" + fence
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

func (s *sheet) form(t core.Tokenizer) core.PageForm {
	s.mark()
	s.f.Text = s.text.String()
	if s.f.Text != "" {
		s.f.Tokens, s.f.UserTokens = t.Count(s.f.Text), t.Count(s.user.String())
	}
	return s.f
}

// likeLine matches the beginning of a line that resembles that of a message or a day.
var likeLine = regexp.MustCompile(`([\n\r\v\f\x{85}\x{2028}\x{2029}])(#\d+(?: me| \(forwarded\)|–#\d+)?:|## \w{3} \d)`)

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

// shorten asks the model to shorten messages. It returns nothing without the model or
// budget, or if it fails: then extraction alone is used.
func (r *round) shorten(ctx context.Context, ms []core.Message) (map[core.MessageID]string, error) {
	request := Request(r.readable(ms))
	if r.alone || request == nil {
		return nil, nil
	}
	if limit := r.Settings.TokensPerDay; limit > 0 {
		need := weigh(ms) + r.Settings.MaxOutput + 1000
		ok, err := r.Store.Reserve(ctx, r.job.User, r.job.Lease, r.today, need,
			max(limit/2, 1)) // the other half is for today's messages
		if err != nil {
			return nil, fmt.Errorf("reserve tokens: %w", err)
		}
		if !ok {
			r.alone = true
			return nil, nil
		}
	}
	text, usage, err := r.ask(ctx, request)
	if usage != (core.Usage{}) {
		if err := r.Store.Spend(context.WithoutCancel(ctx), r.job.User, r.today, usage); err != nil {
			return nil, fmt.Errorf("count tokens: %w", err)
		}
	}
	if m, ok := errors.AsType[*core.ModelError](err); ok && m.Kind != core.ModelDown && m.Kind != core.ModelBusy {
		r.Log.Warn("old messages were not shortened by the model; extracting them", zap.Error(err))
		r.alone = m.Kind == core.ModelAuth || m.Kind == core.ModelConfig
		return nil, nil
	}
	return Parse(text), err
}

// readable returns the messages that fit into one request, of those that the model can shorten.
func (r *round) readable(ms []core.Message) []core.Message {
	if r.Settings.Window == 0 {
		return ms
	}
	room := r.Settings.Window - r.Settings.MaxOutput - r.Tokens.Count(instructions) - 2*messageTokens
	return slices.DeleteFunc(slices.Clone(ms), func(m core.Message) bool {
		n := r.Tokens.Count(line(&m)) + 1
		if !Wants(&m) || n > room {
			return true
		}
		room -= n
		return false
	})
}

// messageTokens are the tokens of the form around a message.
const messageTokens = 4

func (r *round) ask(ctx context.Context, request []core.ModelMessage) (text string, usage core.Usage, err error) {
	var b strings.Builder
	for d, err := range r.Model.Stream(ctx, core.ModelRequest{Messages: request, MaxTokens: r.Settings.Limit,
		User: r.job.User}) {
		if err != nil {
			return "", usage, err
		}
		d.AppendTo(&b)
		if d.Usage != nil {
			usage = usage.Add(*d.Usage)
		}
	}
	return b.String(), usage, nil
}

// candidatesOf is the number of earlier messages to compare for a fingerprint.
const candidatesOf = 4

// repeats returns the pieces of a user's message that repeat earlier ones, and adds its
// fingerprints to out. page are the messages of the same page.
func (r *round) repeats(ctx context.Context, out *made, page []core.Message, m *core.Message) ([]Repeat, error) {
	if m.Role != core.RoleUser {
		return nil, nil
	}
	prints := r.Compressor.Prints(m.Text)
	if len(prints) == 0 {
		return nil, nil
	}
	pieces := map[int64][]int{} // by their bands
	for _, p := range prints {
		for _, band := range append(slices.Clone(p.Bands), exact(p.Hash)) {
			pieces[band] = append(pieces[band], p.Piece)
		}
	}
	found, err := r.earlier(ctx, out, pieces, m.ID)
	if err != nil {
		return nil, err
	}
	texts, err := r.texts(ctx, page, found)
	if err != nil {
		return nil, err
	}
	candidates := map[int][]Candidate{}
	for _, f := range found {
		text, ok := texts[f.Message]
		for _, piece := range pieces[f.Band] {
			c := Candidate{Message: f.Message, Piece: f.Piece, Text: text}
			if ok && !slices.Contains(candidates[piece], c) {
				candidates[piece] = append(candidates[piece], c)
			}
		}
	}
	repeats := r.Compressor.Repeats(m.Text, candidates)
	for _, x := range repeats {
		out.repeats[m.ID] = append(out.repeats[m.ID], x.Of)
	}
	for band, list := range pieces {
		for _, piece := range list {
			out.prints = append(out.prints, store.Printed{Band: band, Message: m.ID, Piece: piece})
		}
	}
	return repeats, nil
}

// exact returns the band that only equal texts share.
func exact(print string) int64 { return int64(hash("exact:" + print)) }

// earlier returns earlier occurrences of bands, in the store and on this page.
func (r *round) earlier(ctx context.Context, out *made, pieces map[int64][]int,
	before core.MessageID) ([]store.Printed, error) {
	bands := slices.Sorted(maps.Keys(pieces))
	found, err := r.Store.Printed(ctx, r.job.User, bands, before, candidatesOf)
	if err != nil {
		return nil, fmt.Errorf("find repetition: %w", err)
	}
	for _, p := range out.prints {
		if pieces[p.Band] != nil && p.Message < before {
			found = append(found, p)
		}
	}
	return found, nil
}

func (r *round) texts(ctx context.Context, page []core.Message,
	found []store.Printed) (map[core.MessageID]string, error) {
	out := map[core.MessageID]string{}
	var ids []core.MessageID
	for _, f := range found {
		if i := slices.IndexFunc(page, func(m core.Message) bool { return m.ID == f.Message }); i >= 0 {
			out[f.Message] = page[i].Text
		} else if !slices.Contains(ids, f.Message) {
			ids = append(ids, f.Message)
		}
	}
	if len(ids) == 0 {
		return out, nil
	}
	ms, err := r.Store.Messages(ctx, r.job.User, ids)
	for _, m := range ms {
		if !m.Redacted {
			out[m.ID] = m.Text
		}
	}
	return out, err
}
