package matrix

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/channel"
)

// Bounds of the search for an event that may have been sent. The homeserver may still be
// processing an interrupted request, and other people may have written much since.
const (
	alreadyWait  = time.Second // before the second search
	alreadyPage  = 100         // events of a page
	alreadyPages = 10
	alreadyOurs  = 50 // sent events, after which the search ends
)

// already looks for an event that a dead process may have sent to a room, by transaction
// id or by a mark in its content. Homeservers should return the same event for the same
// transaction, but some forget an interrupted request and still carry it out. With fresh,
// edits do not count.
func (c *Channel) already(ctx context.Context, s *session, r room, txn, mark string, fresh bool) (string, error) {
	ours := func(e event) bool { return e.Txn == txn || marked(e, mark, fresh) }
	id, err := c.newestOf(ctx, s, r, ours)
	if id != "" || err != nil {
		return id, err
	}
	if err := channel.Pause(ctx, alreadyWait); err != nil {
		return "", fmt.Errorf("look for a sent event: %w", err)
	}
	return c.newestOf(ctx, s, r, ours)
}

// newestOf returns the id of the newest sent event in a room for which wanted is true,
// or "" if none of the last few is.
func (c *Channel) newestOf(ctx context.Context, s *session, r room, wanted func(event) bool) (string, error) {
	filter, _ := json.Marshal(map[string]any{"senders": []string{c.opts.UserID}, "limit": alreadyPage})
	q := url.Values{"dir": {"b"}, "limit": {strconv.Itoa(alreadyPage)}, "filter": {string(filter)}}
	seen := 0
	for range alreadyPages {
		var page struct {
			Chunk []json.RawMessage `json:"chunk"`
			End   string            `json:"end"`
		}
		err := s.call(ctx, callTimeout, request{method: http.MethodGet, path: []any{"v3", "rooms", r.id, "messages"},
			query: q, result: &page})
		if err != nil {
			return "", fmt.Errorf("look for a sent event: %w", err)
		}
		for _, e := range readEvents(page.Chunk) {
			if e.Sender != c.opts.UserID {
				continue
			}
			if seen++; e.Type == typeEncrypted && s.crypto != nil {
				e, _ = s.open(ctx, r.id, e)
			}
			if wanted(e) {
				return e.ID, nil
			}
		}
		if seen >= alreadyOurs || page.End == "" || page.End == q.Get("from") {
			break
		}
		q.Set("from", page.End)
	}
	return "", nil
}

// marked reports whether an event was sent with a mark. With fresh, edits do not count.
func marked(e event, mark string, fresh bool) bool {
	f := e.fields()
	return e.Type == typeMessage && text(f[sentMark]) == mark && (!fresh || f["m.new_content"] == nil)
}

// before looks for a part among the messages sent by a process whose store was lost, if
// this store is a restored backup. It returns the message if it is the same, and marks
// the part as a possible repeat if it cannot tell.
func (c *Channel) before(ctx context.Context, s *session, r room, p *core.Part, bridge *Bridge) (string, error) {
	if s.renewal.Salt == "" {
		return "", nil
	}
	if !p.Again {
		return "", c.qualify(ctx, s, r, p)
	}
	key, body := s.renewal.transaction(p.Key), Render(*p, bridge)["body"]
	var found event
	since, err := c.newestOf(ctx, s, r, func(e event) bool {
		if found.ID == "" && (e.Txn == p.Key || marked(e, p.Key, false)) {
			found = e
		}
		return e.Txn == key || marked(e, key, false)
	})
	if err != nil || since != "" {
		return "", err
	}
	if found.ID == "" {
		return "", c.qualify(ctx, s, r, p)
	}
	f := found.fields()
	if found.Type == typeMessage && f["m.new_content"] != nil {
		f = object(f["m.new_content"])
	}
	switch {
	case found.Type != typeMessage:
		*p = repeated(*p)
		return "", nil
	case text(f["body"]) == body && found.relation().kind == "m.replace":
		return found.relation().target, nil
	case text(f["body"]) == body:
		return found.ID, nil
	}
	return "", c.qualify(ctx, s, r, p)
}
