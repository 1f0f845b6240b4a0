package api

import (
	"cmp"
	"errors"
	"net/http"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/accounts/client"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/web"
)

const (
	daysPage, maxDaysPage         = 30, 100
	messagesPage, maxMessagesPage = 100, 500
)

// dayView is a day without its messages.
type dayView struct {
	Label    string            `json:"day_label"`
	Segment  core.SegmentID    `json:"day_segment_id"`
	Zone     string            `json:"zone"`
	State    core.SegmentState `json:"state"`
	Messages int               `json:"messages"`
	Version  int               `json:"summary_version"`
	Stale    bool              `json:"summary_stale"`
	Error    string            `json:"summary_error"`
}

func viewDay(g core.Segment) dayView {
	return dayView{g.Day.Label, g.ID, g.Day.Zone, g.State, g.Messages, g.SummaryVersion, g.Stale ||
		g.Hidden, g.SummaryError}
}

type daysAnswer struct {
	Days []dayView `json:"days"`
	Next *string   `json:"next_before"`
}

func (c *Server) days(_ http.ResponseWriter, r *http.Request, who client.Caller) (int, any, error) {
	p := paramsOf(r, "before", "limit")
	before, limit := p.day("before"), p.limit(daysPage, maxDaysPage)
	if p.err != nil {
		return 0, nil, p.err
	}
	found, err := c.Store.Days(r.Context(), who.User.ID, before, limit+1)
	if err != nil {
		return 0, nil, err
	}
	out := daysAnswer{Days: []dayView{}}
	for _, g := range found[:min(limit, len(found))] {
		out.Days = append(out.Days, viewDay(g))
	}
	if len(found) > limit {
		out.Next = &out.Days[limit-1].Label
	}
	return http.StatusOK, out, nil
}

type wholeDay struct {
	dayView
	Summary      *summaryView    `json:"summary"`
	Conversation []messageView   `json:"conversation"`
	Next         *core.MessageID `json:"next_after"`
}

type summaryView struct {
	Markdown   string `json:"markdown"`
	Version    int    `json:"version"`
	Final      bool   `json:"final"`
	Ungrounded bool   `json:"ungrounded"`
	Model      string `json:"model"`
	Created    string `json:"created_at"`
}

// messageView is a message as conversation_get shows it.
type messageView struct {
	ID      core.MessageID `json:"message_id"`
	Role    core.Role      `json:"role"`
	Content string         `json:"content"`
	SentAt  string         `json:"sent_at"`
	Channel string         `json:"channel"`
	Early   core.Finish    `json:"unfinished,omitempty"`
}

func viewMessage(m core.Message, zone *time.Location) messageView {
	return messageView{m.ID, m.Role, m.Text, core.Stamp(m.SentAt, zone), m.Channel, m.Unfinished}
}

func (c *Server) day(_ http.ResponseWriter, r *http.Request, who client.Caller) (int, any, error) {
	p := paramsOf(r, "after", "limit")
	after, limit := core.MessageID(p.id("after")), p.limit(messagesPage, maxMessagesPage)
	if p.err != nil {
		return 0, nil, p.err
	}
	g, err := c.labelled(r, who)
	if err != nil {
		return 0, nil, err
	}
	zone := who.User.Settings.Location(c.Zone)
	out := wholeDay{dayView: viewDay(g), Conversation: []messageView{}}
	if out.Summary, err = c.newest(r, who, g, zone); err != nil {
		return 0, nil, err
	}
	found, err := c.Store.DayMessages(r.Context(), who.User.ID, g.ID, after, limit+1)
	if err != nil {
		return 0, nil, err
	}
	for _, m := range found[:min(limit, len(found))] {
		if m.Role != core.RoleTool && !m.Redacted && m.Text != "" {
			out.Conversation = append(out.Conversation, viewMessage(m, zone))
		}
	}
	if len(found) > limit {
		out.Next = &found[limit-1].ID
	}
	return http.StatusOK, out, nil
}

func (c *Server) labelled(r *http.Request, who client.Caller) (core.Segment, error) {
	label, err := pathDay(r)
	if err != nil {
		return core.Segment{}, err
	}
	g, err := c.Store.Day(r.Context(), who.User.ID, label)
	if errors.Is(err, core.ErrNotFound) {
		err = missing("Nothing was said on %s.", label)
	}
	return g, err
}

// newest returns the newest visible summary of a day, or nil.
func (c *Server) newest(r *http.Request, who client.Caller, g core.Segment, zone *time.Location) (*summaryView, error) {
	if g.Hidden {
		return nil, nil
	}
	all, err := c.Store.Summaries(r.Context(), who.User.ID, g.ID, 1)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	s := all[0]
	return &summaryView{s.Markdown, s.Version, s.Final, s.Ungrounded, s.Model, core.Stamp(s.CreatedAt, zone)}, nil
}

type queued struct {
	Label   string         `json:"day_label"`
	Segment core.SegmentID `json:"day_segment_id"`
	Status  string         `json:"status"` // queued
}

func (c *Server) summarize(w http.ResponseWriter, r *http.Request, who client.Caller) (int, any, error) {
	if err := noBody(w, r); err != nil {
		return 0, nil, err
	}
	g, err := c.labelled(r, who)
	if err != nil {
		return 0, nil, err
	}
	if _, err := c.Actor.Act(r.Context(), who.User.ID, effect.Summarize{Segment: g.ID, At: c.Now()}); err != nil {
		return 0, nil, err
	}
	return http.StatusAccepted, queued{g.Day.Label, g.ID, "queued"}, nil
}

// noBody refuses parameters and a body with any field.
func noBody(w http.ResponseWriter, r *http.Request) error {
	if r.ContentLength > 0 {
		return readBody(w, r, &struct{}{})
	}
	return paramsOf(r).err
}

// readBody reads the body of a request without parameters.
func readBody(w http.ResponseWriter, r *http.Request, into any) error {
	data, err := client.ReadJSON(w, r, maxBody)
	if err == nil {
		err = client.Decode(data, into, "", true)
	}
	return cmp.Or(err, paramsOf(r).err)
}

// turnView is a turn with the snapshot of its prompt.
type turnView struct {
	ID       core.TurnID      `json:"turn_id"`
	Thread   core.ThreadID    `json:"thread_id"`
	Mode     core.Mode        `json:"mode"`
	State    core.TurnState   `json:"state"`
	Started  string           `json:"started_at"`
	Inputs   []core.MessageID `json:"inputs"`
	Failures int              `json:"failures"`
	Error    string           `json:"last_error"`
	Context  *store.Snapshot  `json:"context"` // null: the turn has not answered
	LookedUp []web.Lookup     `json:"looked_up,omitempty"`
}

func (c *Server) turn(_ http.ResponseWriter, r *http.Request, who client.Caller) (int, any, error) {
	id, err := pathID(r)
	if err != nil {
		return 0, nil, err
	}
	t, s, err := c.Store.Turn(r.Context(), who.User.ID, core.TurnID(id))
	if errors.Is(err, core.ErrNotFound) {
		err = missing("There is no turn %d.", id)
	}
	if err != nil {
		return 0, nil, err
	}
	looked, err := web.Lookups(r.Context(), c.Store, t)
	return http.StatusOK, turnView{t.ID, t.Thread, t.Mode, t.State,
		core.Stamp(t.StartedAt, who.User.Settings.Location(c.Zone)), append([]core.MessageID{}, t.Inputs...), t.Failures,
		t.LastError, s, looked}, err
}
