package api

import (
	"errors"
	"net/http"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/client"
)

// maxQuery bounds the words of a search, in bytes.
const maxQuery = 2000

// search answers GET /api/v1/conversation/search.
func (c *Server) search(_ http.ResponseWriter, r *http.Request, who client.Caller) (int, any, error) {
	p := paramsOf(r, "query", "day", "recency_days", "limit", "min_score")
	q := core.SearchQuery{User: who.User.ID, Query: p.text("query"), Day: p.day("day"),
		Recency: int(p.number("recency_days", 1, maxDays)), Limit: p.limit(6, 20), MinScore: p.share("min_score"),
		Now: c.Now(), Location: who.User.Settings.Location(c.Zone)}
	if q.Query == "" || len(q.Query) > maxQuery {
		p.fail("query must have 1 to %d bytes.", maxQuery)
	}
	if p.err != nil {
		return 0, nil, p.err
	}
	if c.Names != nil {
		q.Names = c.Names(r.Context(), who.User.ID)
	}
	found, err := c.Searcher.Search(r.Context(), q)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, found.View(q.Location), nil
}

// maxDays bounds a number of days.
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
