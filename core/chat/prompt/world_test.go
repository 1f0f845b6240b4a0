package prompt_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/chat/prompt"
	"github.com/everthread/everthread/core/store"
)

// bytes4 is a tokenizer of four bytes a token. Like a real one it never counts more for a whole
// than for its parts.
type bytes4 struct{}

func (bytes4) Count(s string) int { return (len(s) + 3) / 4 }

// fatal is the common interface of testing.T, testing.B and rapid.T.
type fatal interface {
	Helper()
	Fatalf(format string, args ...any)
}

// world is a store of one thread with the contract of store.TurnStore.
type world struct {
	t        fatal
	tokens   core.Tokenizer
	zone     *time.Location
	now      time.Time
	budgets  prompt.Budgets
	strategy string
	mode     core.Mode
	static   []prompt.Static

	messages  []core.Message // by position
	segments  []core.Segment
	summaries map[core.SegmentID]*core.Summary
	loops     []core.Loop
	epoch     *store.Epoch
	edits     int64
	turns     core.TurnID

	pages      []store.Page // pages of the messages before those that are read
	compressed int64

	sent   []store.Unasked   // since the last turn
	failed map[string]string // parts that cannot be read

	news, told int64 // counts of changes to what heads show, and of those that prompts have told
	changed    map[core.LoopID]int64
	themes     []core.Theme // that changed, newest first
	themesAt   []int64
}

func newWorld(t fatal, tokens core.Tokenizer) *world {
	return &world{t: t, tokens: tokens, zone: time.UTC, now: time.Date(2026, 11, 19, 8, 10, 0, 0, time.UTC),
		mode: core.ModeContinuous, summaries: map[core.SegmentID]*core.Summary{},
		static: []prompt.Static{{Name: "instructions", Text: "You are a friendly assistant. Answer briefly."},
			{Name: "policy", Text: prompt.Policy(nil, false)}}}
}

// segment returns the current day, and opens it if necessary.
func (w *world) segment() core.SegmentID {
	if w.mode == core.ModeThread {
		return 0
	}
	label := w.now.In(w.zone).Format(time.DateOnly)
	if n := len(w.segments); n == 0 || w.segments[n-1].Day.Label < label {
		w.segments = append(w.segments, core.Segment{ID: core.SegmentID(n + 1),
			Day: core.Day{Label: label, Zone: w.zone.String()}})
	}
	return w.segments[len(w.segments)-1].ID
}

// add appends a message to the newest turn.
func (w *world) add(m core.Message) core.MessageID {
	m.ID = core.MessageID(len(w.messages) + 1)
	m.Turn, m.SentAt, m.Position = w.turns, w.now, w.now.UnixMicro()
	if n := len(w.messages); n > 0 {
		m.Position = max(m.Position, w.messages[n-1].Position+1)
	}
	if m.Kind == "" {
		m.Kind = core.KindChat
	}
	m.Tokens = w.tokens.Count(m.Text)
	for _, c := range m.ToolCalls {
		m.Tokens += w.tokens.Count(c.Name) + w.tokens.Count(c.Arguments)
	}
	if m.Segment == 0 && w.mode != core.ModeThread {
		m.Segment = w.segments[len(w.segments)-1].ID
	}
	w.messages = append(w.messages, m)
	return m.ID
}

// ask begins a turn with messages of the user and returns its prompt.
func (w *world) ask(texts ...string) (prompt.Input, prompt.Prompt) {
	ms := make([]core.Message, 0, len(texts))
	for _, text := range texts {
		ms = append(ms, core.Message{Role: core.RoleUser, Text: text})
	}
	in := w.begin(ms...)
	return in, w.build(&in)
}

// nonce returns a different nonce for each turn.
func (w *world) nonce() string { return fmt.Sprintf("q7k2m%05d", w.turns) }

func (w *world) begin(ms ...core.Message) prompt.Input {
	w.turns++
	turn := core.Turn{ID: w.turns, Mode: w.mode, Segment: w.segment()}
	for _, m := range ms {
		turn.Inputs = append(turn.Inputs, w.add(m))
	}
	return prompt.Input{Turn: turn, Strategy: w.strategy, Budgets: w.budgets, Static: w.static, Now: w.now, Zone: w.zone,
		Tokens: w.tokens, Nonce: w.nonce}
}

// build reads and builds as a turn does, and again with a new window if necessary.
func (w *world) build(in *prompt.Input) prompt.Prompt {
	w.t.Helper()
	p, err := w.try(in)
	if err != nil {
		w.t.Fatalf("build: %v", err)
	}
	return p
}

func (w *world) try(in *prompt.Input) (prompt.Prompt, error) {
	q := prompt.Query(*in)
	in.Window = w.window(in.Turn, q)
	p, err := prompt.Build(*in)
	if errors.Is(err, prompt.ErrStale) {
		in.Window = w.window(in.Turn, prompt.Fresh(q))
		p, err = prompt.Build(*in)
	}
	return p, err
}

// answer commits a reply to a prompt.
func (w *world) answer(p prompt.Prompt, ms ...core.Message) {
	for _, m := range ms {
		w.add(m)
	}
	w.told, w.sent = max(w.told, p.Told), nil
	if p.News != nil {
		n := p.News.News
		w.messages[p.News.Message-1].News = &n
	}
	if p.Epoch != nil {
		data, err := json.Marshal(p.Epoch)
		if err != nil {
			w.t.Fatalf("%v", err)
		}
		w.epoch = &store.Epoch{}
		if err := json.Unmarshal(data, w.epoch); err != nil {
			w.t.Fatalf("%v", err)
		}
	}
	w.epoch.UsedAt = w.now
}

func says(text string) core.Message { return core.Message{Role: core.RoleAssistant, Text: text} }

// exchange runs a whole turn.
func (w *world) exchange(question, reply string) prompt.Prompt {
	_, p := w.ask(question)
	w.answer(p, says(reply))
	return p
}

func (w *world) window(turn core.Turn, q store.WindowQuery) store.Window {
	out := store.Window{Edits: w.edits, News: w.news, Told: w.told, Compressed: w.compressed, Sent: w.sent,
		Failed: w.failed}
	if w.epoch != nil {
		e := *w.epoch
		out.Epoch = &e
	}
	if e := out.Epoch; e != nil && e.Edits == w.edits && e.Budgets == q.Budgets && e.UsedAt.After(q.Stale) {
		for _, m := range w.messages {
			if m.Position >= e.Start && m.Kind == core.KindChat {
				out.Messages = append(out.Messages, m)
			}
		}
		if e.Dropped > 0 {
			w.uncovered(&out, func(m *core.Message) bool { return m.Position < e.Start })
		}
		if q.Opener && e.Opener != 0 {
			out.Opener = &w.messages[e.Opener-1]
		}
		w.changes(&out)
		for _, h := range e.Head {
			for _, ref := range h.Pages {
				out.Pages = append(out.Pages, w.pages[ref.Page-1])
			}
		}
		return out
	}
	out.Pages = w.pages
	w.newest(&out, q)
	if n := slices.IndexFunc(w.messages, opens); q.Opener && n >= 0 && w.messages[n].Position < out.Messages[0].Position {
		out.Opener = &w.messages[n]
	}
	for _, m := range w.messages {
		if m.Kind == core.KindChat && (m.Role == core.RoleUser || m.Role == core.RoleAssistant && m.Text != "") {
			out.Thread++
		}
	}
	if turn.Segment == 0 {
		return out
	}
	w.days(&out, turn)
	return out
}

// opens reports whether a message can be the first of a thread.
func opens(m core.Message) bool {
	return m.Kind == core.KindChat && m.Role == core.RoleUser && !m.Redacted
}

// changes adds to a window the changes that no prompt has shown yet.
func (w *world) changes(out *store.Window) {
	if w.news == w.told || w.failed["news"] != "" {
		return
	}
	for _, l := range slices.Backward(w.loops) {
		if w.changed[l.ID] > w.told {
			out.Changes.Loops = append(out.Changes.Loops, l)
		}
	}
	for i, at := range w.themesAt {
		if at > w.told {
			out.Changes.Themes = append(out.Changes.Themes, w.themes[i])
		}
	}
	for _, h := range out.Epoch.Head {
		if s := w.summaries[h.Segment]; h.Name == "last" && s != nil && s.Version > h.Version {
			out.Last, out.LastSummary = w.segments[h.Segment-1], s
		}
	}
}

// compress makes a page of size tokens from the n oldest messages that are on no page.
func (w *world) compress(n, size int) {
	from := 0
	for _, p := range w.pages {
		from += p.Messages
	}
	first, last := w.messages[from], w.messages[from+n-1]
	p := store.Page{ID: store.PageID(len(w.pages) + 1), Start: first.Position, End: last.Position, First: first.ID,
		Last: last.ID, Messages: n, Tier: store.TierOlder}
	p.Forms[p.Tier] = store.PageForm{Text: strings.Repeat("page", size), Tokens: size}
	w.pages = append(w.pages, p)
	w.compressed++
}

// open opens a loop.
func (w *world) open(text string) core.LoopID {
	l := core.Loop{ID: core.LoopID(len(w.loops) + 1), Text: text, State: core.LoopOpen, OpenedAt: w.now, Mentioned: w.now}
	w.loops = append(w.loops, l)
	w.change(l.ID)
	return l.ID
}

func (w *world) done(id core.LoopID) {
	w.loops[id-1].State = core.LoopClosed
	w.change(id)
}

func (w *world) change(id core.LoopID) {
	w.news++
	if w.changed == nil {
		w.changed = map[core.LoopID]int64{}
	}
	w.changed[id] = w.news
}

// remember sets how many items a theme of memory has.
func (w *world) remember(theme string, items int) {
	w.news++
	w.themes = slices.Insert(w.themes, 0, core.Theme{Slug: theme, Active: items})
	w.themesAt = slices.Insert(w.themesAt, 0, w.news)
}

func (w *world) newest(out *store.Window, q store.WindowQuery) {
	tokens, first := 0, 0
	for i := len(w.messages) - 1; i >= 0 && !out.More; i-- {
		m := w.messages[i]
		if n := len(w.pages); n > 0 && m.Position <= w.pages[n-1].End {
			break
		}
		if m.Kind != core.KindChat {
			continue
		}
		out.Messages, first = append(out.Messages, m), i
		tokens += m.Tokens + 4
		if m.Role == core.RoleTool {
			tokens += min(m.Tokens, 200) - m.Tokens
		}
		out.More = tokens >= q.Tokens && len(out.Messages) >= 4 || len(out.Messages) >= q.Limit
	}
	slices.Reverse(out.Messages)
	w.uncovered(out, func(m *core.Message) bool { return m.Position < w.messages[first].Position })
}

func (w *world) uncovered(out *store.Window, before func(m *core.Message) bool) {
	for i := range w.messages {
		m := &w.messages[i]
		if before(m) && m.Kind == core.KindChat && !m.Covered && m.Segment > 0 && !m.Redacted && m.Role != core.RoleTool {
			out.UncoveredBefore++
		}
	}
}

func (w *world) days(out *store.Window, turn core.Turn) {
	for _, g := range w.segments {
		switch {
		case g.ID == turn.Segment:
			out.Today, out.TodaySummary = g, w.summaries[g.ID]
		case g.ID < turn.Segment:
			if s := out.LastSummary; s != nil {
				out.Days = slices.Insert(out.Days, 0, *s)
			}
			out.Last, out.LastSummary = g, w.summaries[g.ID]
		}
	}
	out.Loops = slices.DeleteFunc(slices.Clone(w.loops), func(l core.Loop) bool { return l.State == core.LoopClosed })
}

// summarize adds a summary of a day, which covers its messages up to through.
func (w *world) summarize(id core.SegmentID, through core.MessageID) {
	s := &core.Summary{Segment: id, Version: 1, Label: w.segments[id-1].Day.Label,
		Markdown: summaryText(fmt.Sprint("day ", id, " through #", through))}
	if old := w.summaries[id]; old != nil {
		s.Version = old.Version + 1
	}
	s.Tokens = w.tokens.Count(s.Markdown)
	w.summaries[id] = s
	if int(id) < len(w.segments) {
		w.news++
	}
	for i := range w.messages {
		if m := &w.messages[i]; m.Segment == id && m.ID <= through {
			m.Covered = true
		}
	}
}

func summaryText(topic string) string {
	bullet := func(n int) string {
		return fmt.Sprintf("- Point %d about %s, with the reasons that were given and what follows from them. [#%d]\n", n,
			topic, n)
	}
	var s strings.Builder
	s.WriteString("## Summary\nThey talked about " + topic + ". " +
		strings.Repeat("It went back and forth for some time, and in the end it was clear. ", 4) + "\n")
	for _, heading := range []string{"Goals", "Decisions", "Open loops", "Next steps"} {
		s.WriteString("\n## " + heading + "\n")
		for n := range 6 {
			s.WriteString(bullet(n + 1))
		}
	}
	return s.String()
}

// cost returns the tokens of a prompt, counted from its texts.
func cost(ms []core.ModelMessage, t core.Tokenizer) int {
	n := 0
	for _, m := range ms {
		n += t.Count(m.Content) + 4
		for _, c := range m.ToolCalls {
			n += t.Count(c.Name) + t.Count(c.Arguments)
		}
	}
	return n
}

// text returns a prompt as JSON lines.
func text(ms []core.ModelMessage) string {
	var s strings.Builder
	for _, m := range ms {
		data, _ := json.Marshal(m)
		s.Write(data)
		s.WriteByte('\n')
	}
	return s.String()
}

func common(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

func location(t *testing.T, name string) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return zone
}
