package api

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/accounts/client"
	"github.com/everthread/everthread/core/chat/live"
	"github.com/everthread/everthread/core/search"
)

const (
	maxBody           = 1 << 20
	maxMessage        = 256 << 10 // bytes
	maxSession        = 200       // bytes
	maxIdempotencyKey = 255       // bytes
)

type chatBody struct {
	Message *string `json:"message"`
	Command *string `json:"command"`
	Session *string `json:"session_id"`
}

type chatAnswer struct {
	Reply   string         `json:"reply"`
	Session *string        `json:"session_id"`
	Turn    *core.TurnID   `json:"turn_id"` // null: a command was answered
	Message core.MessageID `json:"message_id"`
	Early   core.Finish    `json:"unfinished,omitempty"`
}

func (c *Server) chat(w http.ResponseWriter, r *http.Request, who client.Caller) (int, any, error) {
	b, err := readChat(w, r)
	if err != nil {
		return 0, nil, err
	}
	event, err := c.event(r, who)
	if err != nil {
		return 0, nil, err
	}
	if who.User.Settings.Paused && b.Command == nil {
		return 0, nil, failed(http.StatusConflict, "paused",
			"The conversation is paused, so nothing would be answered; nothing was stored. /pause in a chat app, or the settings page, goes on.", 0)
	}
	ctx, cancel := context.WithTimeout(r.Context(), c.Patience)
	defer cancel()
	// ctx alone bounds the answer. A connection without deadlines needs no change.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
	a, err := c.ask(ctx, b, who, event, client.TraceOf(r))
	if err != nil {
		return 0, nil, err
	}
	out := chatAnswer{Reply: reply(a.Message), Session: b.Session, Message: a.Message.ID,
		Early: a.Message.Unfinished}
	if a.Turn.ID != 0 {
		out.Turn = &a.Turn.ID
	}
	return http.StatusOK, out, nil
}

// isCommand is the form of a command in its own field. The text of a message never counts
// as a command, as it may be somebody else's.
var isCommand = regexp.MustCompile(`^/[A-Za-z]+(\s|$)`)

func readChat(w http.ResponseWriter, r *http.Request) (chatBody, error) {
	var b chatBody
	if err := readBody(w, r, &b); err != nil {
		return b, err
	}
	if b.Session != nil && *b.Session == "" {
		b.Session = nil
	}
	switch {
	case b.Message != nil && b.Command != nil:
		return b, invalid("message and command exclude each other.")
	case b.Command != nil && !isCommand.MatchString(*b.Command):
		return b, invalid("command must begin with a slash and a word, such as /today.")
	case b.Command != nil:
		b.Message = b.Command
	case b.Message == nil:
		return b, invalid("message is missing.")
	}
	switch {
	case strings.TrimSpace(*b.Message) == "":
		return b, invalid("message says nothing.")
	case len(*b.Message) > maxMessage:
		return b, invalid("message has %d bytes; at most %d fit.", len(*b.Message), maxMessage)
	case b.Session != nil && (len(*b.Session) > maxSession || strings.TrimSpace(*b.Session) == "" ||
		strings.ContainsFunc(*b.Session, unicode.IsControl)):
		return b, invalid("session_id must have 1 to %d bytes, and no control characters.", maxSession)
	}
	return b, nil
}

// event returns the id of a request, which is the same for the same Idempotency-Key.
func (c *Server) event(r *http.Request, who client.Caller) (string, error) {
	key := r.Header.Get("Idempotency-Key")
	if len(key) > maxIdempotencyKey {
		return "", invalid("Idempotency-Key has more than %d bytes.", maxIdempotencyKey)
	}
	return who.Event(rand.Reader, key)
}

// ask receives a message and waits for its answer. A repeat is not stored again, and gets the same answer.
func (c *Server) ask(ctx context.Context, b chatBody, who client.Caller, event, trace string) (live.Answer, error) {
	now := c.Now()
	i, err := client.Join(ctx, c.Store, who, Name, now)
	if err != nil {
		return live.Answer{}, err
	}
	in := []core.Inbound{{Address: i.Address, EventID: event, NativeID: event, Kind: core.InMessage,
		Name: i.Name, Solo: true, Text: *b.Message, SentAt: now, ReceivedAt: now, Program: true, Grants: who.Key.Scopes,
		Own:     who.Key.Allows(core.OwnWords),
		Command: b.Command != nil}}
	if trace != "" {
		in[0].Request = &core.Request{Trace: trace}
	}
	name := ""
	if b.Session != nil {
		name = *b.Session
	}
	if _, err := client.Place(ctx, c.Store, i, name, in, now); err != nil {
		return live.Answer{}, err
	}
	return c.Asker.Ask(ctx, in, nil)
}

// reply returns the text of an answer with the names of its files.
func reply(m core.Message) string {
	text := m.Text
	for _, f := range m.Attachments {
		text = strings.TrimSpace(text + "\n\n" + f.Named())
	}
	return text
}

// maxQuery bounds the words of a search, in bytes.
const maxQuery = 2000

func (c *Server) search(_ http.ResponseWriter, r *http.Request, who client.Caller) (int, any, error) {
	p := paramsOf(r, "query", "day", "recency_days", "limit", "min_score")
	q := search.Query{User: who.User.ID, Query: p.text("query"), Day: p.day("day"),
		Recency: int(p.number("recency_days", 1, maxDays)), Limit: p.limit(6, 20), MinScore: p.share("min_score"),
		Now: c.Now(), Location: who.User.Settings.Location(c.Zone)}
	if q.Query == "" || len(q.Query) > maxQuery {
		p.fail("query must have 1 to %d bytes.", maxQuery)
	}
	if p.err != nil {
		return 0, nil, p.err
	}
	q.Names = c.Names(r.Context(), who.User.ID)
	found, err := c.Searcher.Search(r.Context(), q)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, found.View(q.Location), nil
}

const maxDays = 100_000

type rangeAnswer struct {
	Messages []messageView  `json:"messages"`
	Next     core.MessageID `json:"next_from_message_id,omitempty"`
}

type daySummary struct {
	Segment core.SegmentID    `json:"day_segment_id"`
	Label   string            `json:"day_label"`
	Summary string            `json:"summary_markdown"`
	Updated string            `json:"updated_at,omitempty"`
	State   core.SegmentState `json:"state"`
}

// messages answers GET /api/v1/conversation/messages: a message, a day's summary,
// or messages of a day, as conversation_get does.
func (c *Server) messages(_ http.ResponseWriter, r *http.Request, who client.Caller) (int, any, error) {
	p := paramsOf(r, "message_id", "day_segment_id", "from_message_id", "to_message_id")
	message, segment := core.MessageID(p.id("message_id")), core.SegmentID(p.id("day_segment_id"))
	from, to := core.MessageID(p.id("from_message_id")), core.MessageID(p.id("to_message_id"))
	switch {
	case p.err != nil:
		return 0, nil, p.err
	case message != 0 && segment == 0 && from == 0 && to == 0:
		return c.message(r, who, message)
	case message != 0 || segment == 0:
		return 0, nil, invalid(
			"Give either message_id, or day_segment_id, or day_segment_id with from_message_id and to_message_id.")
	case from == 0 && to == 0:
		return c.summary(r, who, segment)
	case from == 0 || to < from:
		return 0, nil, invalid("from_message_id and to_message_id must both be given, the smaller one first.")
	}
	return c.stretch(r, who, segment, from, to)
}

func (c *Server) message(r *http.Request, who client.Caller, id core.MessageID) (int, any, error) {
	m, err := c.Searcher.Message(r.Context(), who.User.ID, id)
	if errors.Is(err, core.ErrNotFound) {
		err = missing("There is no message %d.", id)
	}
	return http.StatusOK, viewMessage(m, who.User.Settings.Location(c.Zone)), err
}

func noSegment(err error, id core.SegmentID) error {
	if errors.Is(err, core.ErrNotFound) {
		return missing("There is no day_segment_id %d.", id)
	}
	return err
}

func (c *Server) summary(r *http.Request, who client.Caller, id core.SegmentID) (int, any, error) {
	s, err := c.Searcher.Summary(r.Context(), who.User.ID, id)
	out := daySummary{Segment: id, Label: s.Label, Summary: s.Markdown, State: s.State}
	if s.Markdown != "" {
		out.Updated = core.Stamp(s.CreatedAt, who.User.Settings.Location(c.Zone))
	}
	return http.StatusOK, out, noSegment(err, id)
}

func (c *Server) stretch(r *http.Request, who client.Caller, id core.SegmentID, from,
	to core.MessageID) (int, any, error) {
	page, err := c.Searcher.Range(r.Context(), who.User.ID, id, from, to)
	out := rangeAnswer{Messages: []messageView{}, Next: page.Next}
	for _, m := range page.Messages {
		out.Messages = append(out.Messages, viewMessage(m, who.User.Settings.Location(c.Zone)))
	}
	return http.StatusOK, out, noSegment(err, id)
}
