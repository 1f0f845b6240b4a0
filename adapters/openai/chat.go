package openai

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/accounts/client"
	"github.com/everthread/everthread/core/chat/live"
	"github.com/everthread/everthread/core/ops/server"
	"github.com/everthread/everthread/core/store"
)

func (c *Server) complete(w http.ResponseWriter, r *http.Request, who client.Caller) error {
	event, err := c.event(r, who)
	if err != nil {
		return err
	}
	data, err := client.ReadJSON(w, r, maxBody)
	if err != nil {
		return err
	}
	q, err := read(data)
	if err != nil {
		return err
	}
	q.request.Trace = client.TraceOf(r)
	ctx, cancel := context.WithTimeout(r.Context(), c.Patience)
	defer cancel()
	// ctx alone bounds the answer. A connection without deadlines needs no change.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
	ask, err := c.asking(ctx, q, who, event)
	if err != nil {
		return err
	}
	if q.stream {
		return c.stream(ctx, w, q, event, ask)
	}
	out, err := ask(nil)
	if err != nil {
		return err
	}
	server.WriteJSON(w, http.StatusOK, out.completion(q, event, c.Now()))
	return nil
}

// asking gets an answer, and passes the unfinished text to onText.
type asking func(onText func(soFar string)) (outcome, error)

// asking returns the function that gets the answer, from the thread or from the model alone.
func (c *Server) asking(ctx context.Context, q question, who client.Caller, event string) (asking, error) {
	if q.direct {
		req, err := q.forModel(who.User.ID)
		return func(func(string)) (outcome, error) {
			d, err := c.Director.Direct(ctx, who.User.ID, req)
			return directly(d), err
		}, err
	}
	in, err := c.inbound(ctx, q, who, event)
	return func(onText func(string)) (outcome, error) {
		a, err := c.Asker.Ask(ctx, in, onText)
		return answered(a), err
	}, err
}

const maxIdempotencyKey = 255

// event returns the id of a request, which is the same for the same Idempotency-Key.
func (c *Server) event(r *http.Request, who client.Caller) (string, error) {
	key := r.Header.Get("Idempotency-Key")
	if len(key) > maxIdempotencyKey {
		return "", invalid("Idempotency-Key", "string_above_max_length", "Idempotency-Key has more than %d bytes.",
			maxIdempotencyKey)
	}
	return who.Event(rand.Reader, key)
}

// inbound returns the new messages of a request. For a repeat it returns only the event
// id, as the first request counts.
func (c *Server) inbound(ctx context.Context, q question, who client.Caller, event string) ([]core.Inbound, error) {
	i, err := client.Join(ctx, c.Store, who, Name, c.Now())
	if err != nil {
		return nil, err
	}
	_, err = c.Store.Referred(ctx, who.User.ID, i.ID, event)
	switch {
	case err == nil:
		return []core.Inbound{c.base(i, event)}, nil
	case !errors.Is(err, core.ErrNotFound):
		return nil, fmt.Errorf("look for a repeat: %w", err)
	}
	if err := c.roomFor(q.request); err != nil {
		return nil, err
	}
	in, err := c.fresh(ctx, q, who, i, event)
	if err != nil {
		return nil, err
	}
	if who.User.Settings.Paused {
		return nil, &failure{status: http.StatusConflict, kind: invalidRequest, code: "paused",
			message: "The conversation is paused, so nothing would be answered; nothing was stored. /pause in a chat app, or the settings page, goes on."}
	}
	thread, err := client.Place(ctx, c.Store, i, q.thread, in, c.Now())
	if err != nil {
		return nil, err
	}
	return in, c.waiting(ctx, who.User.ID, thread, q.fresh)
}

// roomFor refuses instructions and tools that leave no room for the conversation in the model's context.
func (c *Server) roomFor(r core.Request) error {
	if c.ExtrasRoom <= 0 {
		return nil
	}
	n := c.Tokens.Count(r.Instructions)
	for _, t := range r.Tools {
		n += c.Tokens.Count(t.Name) + c.Tokens.Count(t.Description) + c.Tokens.Count(string(t.Schema))
	}
	if n <= c.ExtrasRoom {
		return nil
	}
	return invalid("tools", "context_length_exceeded", "The system messages and tools of the request take %d tokens; at "+
		"most %d have room in what the model reads at once. Nothing was stored: send fewer or shorter ones.", n, c.ExtrasRoom)
}

// base is an inbound message without content.
func (c *Server) base(i core.Identity, event string) core.Inbound {
	now := c.Now()
	return core.Inbound{Address: i.Address, EventID: event, NativeID: event, Kind: core.InMessage,
		Name: i.Name, Solo: true, SentAt: now, ReceivedAt: now, Program: true}
}

// fresh returns new messages as inbound ones. It joins consecutive messages of the user,
// and keeps tool results separate. The last one has the request and its event.
func (c *Server) fresh(ctx context.Context, q question, who client.Caller, i core.Identity,
	event string) ([]core.Inbound, error) {
	var in []core.Inbound
	for _, m := range q.fresh {
		text, images, err := m.read()
		if err != nil {
			return nil, err
		}
		if m.role == core.RoleTool && len(images) > 0 {
			return nil, invalid(m.path+".content", "invalid_value", "%s is a tool's result, which has text only.", m.path)
		}
		if m.role == core.RoleUser && strings.TrimSpace(text) == "" && len(images) == 0 {
			return nil, invalid(m.path+".content", "invalid_value", "%s says nothing.", m.path)
		}
		e := c.base(i, fmt.Sprintf("%s:%d", event, len(in)))
		if e.Text, e.Attachments, err = c.keep(ctx, who, m.path, text, images); err != nil {
			return nil, err
		}
		e.ToolCallID, e.Own = m.call, who.Key.Allows(core.OwnWords)
		if n := len(in) - 1; n >= 0 && m.role == core.RoleUser && in[n].ToolCallID == "" {
			in[n].Text += "\n\n" + e.Text
			in[n].Attachments = append(in[n].Attachments, e.Attachments...)
			continue
		}
		in = append(in, e)
	}
	last := &in[len(in)-1]
	last.EventID, last.NativeID, last.Request = event, event, &q.request
	for n := range in {
		in[n].Solo = len(in) == 1 // messages of one request are answered together
	}
	return in, nil
}

// placeholder returns the text that represents a picture or file in a message.
func placeholder(a core.Attachment) string {
	if a.Kind == "document" {
		return "[document " + a.Name + "]"
	}
	return "[" + a.Kind + "]"
}

// keep stores pictures and files, and puts a placeholder for each into the text.
func (c *Server) keep(ctx context.Context, who client.Caller, path, text string,
	images []core.File) (string, []core.Attachment, error) {
	var out []core.Attachment
	said := make([]string, 0, len(images)+1)
	for _, f := range images {
		a, err := c.Keeper.Keep(ctx, who.User.ID, f)
		if err != nil {
			return "", nil, invalid(path+".content", "invalid_image", "A picture or file of %s cannot be kept: %v.", path, err)
		}
		out = append(out, a)
		said = append(said, placeholder(a))
	}
	if text != "" {
		said = append(said, text)
	}
	return strings.Join(said, "\n"), out, nil
}

// looked is the number of recent messages that are searched for a tool call.
const looked = 100

// waiting refuses tool results without an open call, and incomplete results for the calls
// of one message, with which no model could continue.
func (c *Server) waiting(ctx context.Context, user core.UserID, thread core.ThreadID, fresh []message) error {
	given := map[string]bool{}
	for _, m := range fresh {
		if m.role == core.RoleTool {
			if given[m.call] {
				return invalid(m.path+".tool_call_id", "invalid_value", "The tool call %s has two results.", m.call)
			}
			given[m.call] = true
		}
	}
	if len(given) == 0 {
		return nil
	}
	ms, _, err := c.Store.Timeline(ctx, store.TimelineQuery{User: user, Thread: thread, Limit: looked})
	if err != nil {
		return fmt.Errorf("look for tool calls: %w", err)
	}
	open := openCalls(ms)
	for _, m := range fresh {
		if m.role == core.RoleTool && !open[m.call] {
			return invalid(m.path+".tool_call_id", "invalid_value", "No tool call %s waits for a result.", m.call)
		}
	}
	for id := range open {
		if !given[id] {
			return invalid("messages", "invalid_value",
				"The tool call %s waits for its result, too: send the results of all calls of one message together.", id)
		}
	}
	return nil
}

// openCalls returns the tool calls without result in the assistant's last message.
func openCalls(ms []core.Message) map[string]bool {
	open := map[string]bool{}
	for _, m := range ms {
		switch {
		case m.Role == core.RoleAssistant && m.Kind == core.KindChat:
			clear(open)
			for _, call := range m.ToolCalls {
				open[call.ID] = true
			}
		case m.Role == core.RoleTool:
			delete(open, m.ToolCallID)
		}
	}
	return open
}

type outcome struct {
	text   string
	calls  []core.ToolCall
	finish string
	usage  core.Usage
	at     time.Time
}

func answered(a live.Answer) outcome {
	out := outcome{text: a.Message.Text, calls: a.Calls, finish: "stop", at: a.Message.SentAt}
	for _, f := range a.Message.Attachments {
		out.text = strings.TrimSpace(out.text + "\n\n" + f.Named())
	}
	if a.Snapshot != nil {
		out.usage, out.finish = a.Snapshot.Usage, reasonOf(a.Snapshot.Finish)
	}
	if len(a.Calls) > 0 {
		out.finish = "tool_calls"
	}
	return out
}

func directly(d core.Delta) outcome {
	out := outcome{text: d.Text, finish: reasonOf(d.Finish)}
	if d.Usage != nil {
		out.usage = *d.Usage
	}
	return out
}

// reasonOf returns OpenAI's word for the end of an answer; it has none for one that broke off.
func reasonOf(f core.Finish) string {
	return cmp.Or(map[core.Finish]string{core.FinishLength: "length", core.FinishCut: "length",
		core.FinishRefused: "content_filter"}[f], "stop")
}
