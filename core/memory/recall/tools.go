package recall

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/search"
)

// Names returns the roles that names mean in a query of a user; nil: none.
type Names func(ctx context.Context, user core.UserID) map[string]core.Role

// UserNames returns the names of stored users; see NamesOf.
func UserNames(users interface {
	User(ctx context.Context, id core.UserID) (core.User, error)
}) Names {
	return func(ctx context.Context, user core.UserID) map[string]core.Role {
		u, err := users.User(ctx, user)
		if err != nil {
			return nil
		}
		return NamesOf(u)
	}
}

// NamesOf returns the names of a user: the whole name, and its first word.
func NamesOf(u core.User) map[string]core.Role {
	out := map[string]core.Role{}
	if words := strings.Fields(u.Name); len(words) > 0 {
		out[u.Name], out[words[0]] = core.RoleUser, core.RoleUser
	}
	return out
}

// Tools returns conversation_search and conversation_get. Their errors are for the model. In a plain thread both read
// that thread and nothing else.
func Tools(s *Searcher, names Names) []core.Tool {
	return []core.Tool{searchTool{s, names, false}, getTool{s, false}}
}

type searchTool struct {
	searcher *Searcher
	names    Names
	thread   bool // it searches the plain thread of the turn
}

// InThread returns the tool of plain threads.
func (t searchTool) InThread() core.Tool {
	t.thread = true
	return t
}

// Spec describes the tool.
func (t searchTool) Spec() core.ToolSpec {
	what := "with the user, and the files they sent"
	if t.thread {
		what = "in this thread"
	}
	return core.ToolSpec{Name: searchName,
		Description: "Search everything said " + what + `. Put days and speakers into the query ("plumber last Tuesday"). ` +
			"Does not return what you can already see.",
		Schema: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string","description":"words, days, speakers"},` +
			`"day":{"type":"string","description":"only this day, YYYY-MM-DD"},` +
			`"recency_days":{"type":"integer","description":"only the last so many days"},` +
			`"limit":{"type":"integer","description":"results: 6, at most 20"},` +
			`"min_score":{"type":"number","description":"least score, 0 to 1"}},"required":["query"]}`)}
}

// searchInput holds the arguments of conversation_search.
type searchInput struct {
	Query    string   `json:"query"`
	Day      string   `json:"day"`
	Recency  wholeNum `json:"recency_days"`
	Limit    wholeNum `json:"limit"`
	MinScore float64  `json:"min_score"`
}

// Use searches. It reads the arguments itself, for its own errors.
func (t searchTool) Use(ctx context.Context, use core.ToolUse) (core.ToolResult, error) {
	var in searchInput
	if err := arguments(use.Arguments, &in); err != nil {
		return core.ToolResult{}, err
	}
	q := search.Query{
		User: use.User, Query: in.Query, Day: strings.TrimSpace(in.Day), Recency: int(in.Recency), Limit: int(in.Limit),
		MinScore: in.MinScore, Now: use.Now, Location: use.Location,
	}
	if t.names != nil {
		q.Names = t.names(ctx, use.User)
	}
	if len(use.Inputs) > 0 {
		q.Before = slices.Min(use.Inputs)
	}
	found, err := t.search(ctx, use, q)
	if err != nil {
		return core.ToolResult{}, err
	}
	out := found.View(use.Location)
	return core.TaintedResult(out, slices.ContainsFunc(out.Results, func(h search.HitView) bool { return h.Foreign }))
}

// search searches what the turn may find.
func (t searchTool) search(ctx context.Context, use core.ToolUse, q search.Query) (search.Result, error) {
	q.Hidden = use.Seen
	if t.thread {
		q.Thread = use.Thread
		return t.searcher.inThread(ctx, q)
	}
	echoes, err := t.searcher.echoes(ctx, use.User, use.Segment)
	if err != nil {
		return search.Result{}, err
	}
	q.Hidden = q.Hidden.Union(echoes)
	return t.searcher.Search(ctx, q)
}

// inThread searches one plain thread.
func (s *Searcher) inThread(ctx context.Context, q search.Query) (search.Result, error) {
	found, err := s.InThreads(ctx, q)
	if err != nil {
		return search.Result{}, err
	}
	out := search.Result{Mode: modeFTS}
	for _, h := range found.Hits {
		out.Hits = append(out.Hits, search.Hit{Kind: core.DocMessage, Message: h.Message, Snippet: h.Snippet, Score: h.Score,
			Label: h.Message.SentAt.In(cmp.Or(q.Location, time.UTC)).Format(time.DateOnly), FTS: true})
	}
	switch {
	case len(out.Hits) == 0:
		out.Note = "Nothing else in this thread matched."
	case found.More:
		out.Note = "Only the newest messages of this thread were searched."
	}
	return out, nil
}

// echoes returns the questions and answers of a day's searches: the messages of each turn that called
// conversation_search. They hold the words of what was searched for, and not what was found. No day has none.
func (s *Searcher) echoes(ctx context.Context, user core.UserID, day core.SegmentID) (core.IDSet, error) {
	if day == 0 {
		return core.IDSet{}, nil
	}
	var said []core.Message
	for after := core.MessageID(0); ; after = said[len(said)-1].ID {
		page, err := s.Days.DayMessages(ctx, user, day, after, echoPage)
		if err != nil {
			return core.IDSet{}, fmt.Errorf("read the searches of the day: %w", err)
		}
		if said = append(said, page...); len(page) < echoPage {
			return echoesIn(said), nil
		}
	}
}

const echoPage = 500 // messages of a read

func echoesIn(said []core.Message) core.IDSet {
	turns := map[core.TurnID]bool{}
	for _, m := range said {
		if m.Turn != 0 && slices.ContainsFunc(m.ToolCalls, func(c core.ToolCall) bool { return c.Name == searchName }) {
			turns[m.Turn] = true
		}
	}
	var ids []core.MessageID
	for _, m := range said {
		if turns[m.Turn] {
			ids = append(ids, m.ID)
		}
	}
	return core.NewIDSet(ids...)
}

// searchName is the name of the tool that searches.
const searchName = "conversation_search"

// arguments reads the arguments of a tool call. Its errors are sentences for the model.
func arguments(raw json.RawMessage, into any) error {
	if len(raw) == 0 {
		raw = json.RawMessage("{}")
	}
	err := json.Unmarshal(raw, into)
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &kind) && kind.Field != "":
		wanted := strings.Replace(kind.Type.String(), "float64", "number", 1)
		return fmt.Errorf("%s must be a %s, not a %s", kind.Field, wanted, kind.Value)
	case errors.Is(err, errWhole):
		return errWhole
	case err != nil:
		return errors.New("the arguments are no JSON object of the expected form")
	}
	return nil
}

// wholeNum is a whole number, which models also write as 6.0 or "6".
type wholeNum int64

var errWhole = errors.New("limit, recency_days and ids must be whole numbers")

// UnmarshalJSON reads the number.
func (w *wholeNum) UnmarshalJSON(b []byte) error {
	s := strings.TrimPrefix(strings.Trim(string(b), `"`), "#")
	if s == "null" || s == "" {
		return nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return errWhole
	}
	*w = wholeNum(f)
	return nil
}

// Days reads the days of the continuous thread, like store.DayStore.
type Days interface {
	Segment(ctx context.Context, user core.UserID, id core.SegmentID) (core.Segment, error)
	DayMessages(ctx context.Context, user core.UserID, id core.SegmentID, after core.MessageID,
		limit int) ([]core.Message, error)
	Summaries(ctx context.Context, user core.UserID, id core.SegmentID, limit int) ([]core.Summary, error)
}

// Page holds messages of a day in order. Next is the first that did not fit; 0: all did.
type Page struct {
	Messages []core.Message
	Next     core.MessageID
}

// DaySummary is the newest summary of a day.
type DaySummary struct {
	core.Summary
	State core.SegmentState
}

// Message returns a message of the continuous thread. A message that belongs to another
// user or a plain thread, or is redacted, is core.ErrNotFound.
func (s *Searcher) Message(ctx context.Context, user core.UserID, id core.MessageID) (core.Message, error) {
	return s.messageOf(ctx, user, 0, id)
}

// messageOf is like Message, for a message of a plain thread unless that is 0.
func (s *Searcher) messageOf(ctx context.Context, user core.UserID, thread core.ThreadID,
	id core.MessageID) (core.Message, error) {
	found, err := s.Store.Messages(ctx, user, []core.MessageID{id})
	if err != nil {
		return core.Message{}, fmt.Errorf("read message: %w", err)
	}
	if len(found) != 1 || !shown(found[0], thread) {
		return core.Message{}, core.ErrNotFound
	}
	m := found[0]
	m.Text = s.shorten(m.Text, s.Settings.PageTokens)
	return m, nil
}

// shown reports whether a message may be shown: it belongs to the plain thread, or to a day for 0, is not from the
// system, and is not redacted.
func shown(m core.Message, thread core.ThreadID) bool {
	return (thread == 0 && m.Segment > 0 || thread != 0 && m.Thread == thread && m.Segment == 0) && !m.Redacted &&
		m.Role != core.RoleSystem && m.Text != ""
}

// Summary returns the newest summary of a day, or core.ErrNotFound if there is no such
// day. The summary is empty if none is written yet, or if it rests on redacted words.
func (s *Searcher) Summary(ctx context.Context, user core.UserID, id core.SegmentID) (DaySummary, error) {
	segment, err := s.Days.Segment(ctx, user, id)
	if err != nil {
		return DaySummary{}, fmt.Errorf("read day: %w", err)
	}
	out := DaySummary{Summary: core.Summary{User: user, Segment: id, Label: segment.Day.Label}, State: segment.State}
	if segment.Hidden {
		return out, nil
	}
	found, err := s.Days.Summaries(ctx, user, id, 1)
	if err != nil {
		return out, fmt.Errorf("read summary: %w", err)
	}
	if len(found) > 0 {
		out.Summary = found[0]
	}
	return out, nil
}

// Range returns the messages of a day from one id to another, both inclusive, at most Settings.Page of them and
// Settings.PageTokens tokens. A longer message is returned alone and shortened. core.ErrNotFound: there is no such day.
func (s *Searcher) Range(ctx context.Context, user core.UserID, id core.SegmentID, from,
	to core.MessageID) (Page, error) {
	if _, err := s.Days.Segment(ctx, user, id); err != nil {
		return Page{}, fmt.Errorf("read day: %w", err)
	}
	var page Page
	tokens := 0
	for after := max(from-1, 0); ; {
		found, err := s.Days.DayMessages(ctx, user, id, after, s.Settings.Page+1)
		if err != nil {
			return Page{}, fmt.Errorf("read messages: %w", err)
		}
		for _, m := range found {
			if m.ID > to {
				return page, nil
			}
			if !shown(m, 0) {
				continue
			}
			m.Text = s.shorten(m.Text, s.Settings.PageTokens)
			n := s.Tokens.Count(m.Text) + messageTokens
			if len(page.Messages) == s.Settings.Page || len(page.Messages) > 0 && tokens+n > s.Settings.PageTokens {
				page.Next = m.ID
				return page, nil
			}
			page.Messages = append(page.Messages, m)
			tokens += n
		}
		if len(found) <= s.Settings.Page {
			return page, nil
		}
		after = found[len(found)-1].ID
	}
}

// messageTokens are the tokens of the form around a message.
const messageTokens = 40

// shorten cuts a text of more than limit tokens between two characters, and appends a note that it did.
func (s *Searcher) shorten(text string, limit int) string {
	limit -= messageTokens
	if len(text) <= limit || s.Tokens.Count(text) <= limit {
		return text
	}
	size := len(text)
	for {
		size = min(size-1, size*limit/max(1, s.Tokens.Count(text[:boundary(text, size)])))
		cut := text[:boundary(text, size)]
		if s.Tokens.Count(cut) <= limit {
			return cut + " … (the rest is too long)"
		}
	}
}

type getTool struct {
	searcher *Searcher
	thread   bool // it reads only the plain thread of the turn
}

// InThread returns the tool of plain threads.
func (t getTool) InThread() core.Tool {
	t.thread = true
	return t
}

// Spec describes the tool.
func (t getTool) Spec() core.ToolSpec {
	out := core.ToolSpec{Name: "conversation_get", Description: "Read a message of this thread in full, by its id.",
		Schema: json.RawMessage(`{"type":"object","properties":{"message_id":{"type":"integer","description":"of a result"}},` +
			`"required":["message_id"]}`)}
	if !t.thread {
		out.Description = "Read what was said word for word: one message, the messages of a day from one id to another, " +
			"or the summary of a day. Use it after conversation_search."
		out.Schema = json.RawMessage(`{"type":"object","properties":{"message_id":{"type":"integer","description":"one message"},` +
			`"day_segment_id":{"type":"integer","description":"the day; alone: its summary"},` +
			`"from_message_id":{"type":"integer","description":"first message of the day"},` +
			`"to_message_id":{"type":"integer","description":"last message of the day"}}}`)
	}
	return out
}

// getInput holds the arguments of conversation_get.
type getInput struct {
	Message wholeNum `json:"message_id"`
	Segment wholeNum `json:"day_segment_id"`
	From    wholeNum `json:"from_message_id"`
	To      wholeNum `json:"to_message_id"`
}

// gotMessage is a message in a result of conversation_get.
type gotMessage struct {
	ID      core.MessageID `json:"message_id"`
	Role    core.Role      `json:"role"`
	Content string         `json:"content"`
	SentAt  string         `json:"sent_at"`
	Channel string         `json:"channel"`
	Foreign bool           `json:"foreign,omitempty"` // it holds words that the user did not write
	Task    bool           `json:"task,omitempty"`    // the text of a due task, not typed then
	Speaker string         `json:"speaker,omitempty"` // in a group: the number and the name of its writer
}

type gotRange struct {
	Messages []gotMessage   `json:"messages"`
	Next     core.MessageID `json:"next_from_message_id,omitempty"`
}

type gotSummary struct {
	Segment core.SegmentID    `json:"day_segment_id"`
	Label   string            `json:"day_label"`
	Summary string            `json:"summary_markdown"`
	Updated string            `json:"updated_at,omitempty"`
	Foreign bool              `json:"foreign,omitempty"`
	State   core.SegmentState `json:"state"`
}

// Use reads a message, a summary or a range.
func (t getTool) Use(ctx context.Context, use core.ToolUse) (core.ToolResult, error) {
	var in getInput
	if err := arguments(use.Arguments, &in); err != nil {
		return core.ToolResult{}, err
	}
	switch {
	case t.thread && in.Message == 0:
		return core.ToolResult{}, errors.New("give message_id; this thread has no days")
	case t.thread || in.Message != 0 && in.Segment == 0 && in.From == 0 && in.To == 0:
		return t.message(ctx, use, core.MessageID(in.Message))
	case in.Message != 0 || in.Segment == 0:
		return core.ToolResult{},
			errors.New("give either message_id, or day_segment_id, or day_segment_id with from_message_id and to_message_id")
	case in.From == 0 && in.To == 0:
		return t.summary(ctx, use, core.SegmentID(in.Segment))
	case in.From <= 0 || in.To < in.From:
		return core.ToolResult{}, errors.New("from_message_id and to_message_id must both be given, the smaller one first")
	}
	return t.messages(ctx, use, core.SegmentID(in.Segment), core.MessageID(in.From), core.MessageID(in.To))
}

func (t getTool) message(ctx context.Context, use core.ToolUse, id core.MessageID) (core.ToolResult, error) {
	thread := use.Thread
	if !t.thread {
		thread = 0
	}
	m, err := t.searcher.messageOf(ctx, use.User, thread, id)
	if errors.Is(err, core.ErrNotFound) {
		return core.ToolResult{}, fmt.Errorf("there is no message #%d", id)
	}
	if err != nil {
		return core.ToolResult{}, err
	}
	return core.TaintedResult(got(m, use.Location), m.Foreign())
}

func got(m core.Message, location *time.Location) gotMessage {
	return gotMessage{m.ID, m.Role, m.Text, core.Stamp(m.SentAt, location), m.Channel, m.Foreign(), m.Task != nil,
		m.Speaker.String()}
}

func (t getTool) summary(ctx context.Context, use core.ToolUse, id core.SegmentID) (core.ToolResult, error) {
	s, err := t.searcher.Summary(ctx, use.User, id)
	if errors.Is(err, core.ErrNotFound) {
		return core.ToolResult{}, noDay(id)
	}
	if err != nil {
		return core.ToolResult{}, err
	}
	out := gotSummary{Segment: id, Label: s.Label, Summary: s.Markdown, State: s.State, Foreign: s.Tainted}
	if s.Markdown != "" {
		out.Updated = core.Stamp(s.CreatedAt, use.Location)
	}
	return core.TaintedResult(out, s.Tainted)
}

func noDay(id core.SegmentID) error { return fmt.Errorf("there is no day_segment_id %d", id) }

func (t getTool) messages(ctx context.Context, use core.ToolUse, id core.SegmentID, from,
	to core.MessageID) (core.ToolResult, error) {
	page, err := t.searcher.Range(ctx, use.User, id, from, to)
	if errors.Is(err, core.ErrNotFound) {
		return core.ToolResult{}, noDay(id)
	}
	if err != nil {
		return core.ToolResult{}, err
	}
	out := gotRange{Messages: make([]gotMessage, 0, len(page.Messages)), Next: page.Next}
	foreign := false
	for _, m := range page.Messages {
		out.Messages, foreign = append(out.Messages, got(m, use.Location)), foreign || m.Foreign()
	}
	return core.TaintedResult(out, foreign)
}
