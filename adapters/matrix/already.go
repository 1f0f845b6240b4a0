package matrix

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// How a homeserver is asked for what may be there: a request that was cut off may
// still be on its way through it.
const (
	alreadyPage = 50
	alreadyWait = time.Second
)

// already looks for what a process that died may have sent to a room: an event of
// ours with a transaction id, or with a mark in its content. Homeservers should
// return the same event for the same transaction, but some forget one whose
// request was cut off and carry it out all the same. fresh: an edit is not meant.
func (c *Channel) already(ctx context.Context, s *session, r room, txn, mark string, fresh bool) (string, error) {
	for try := range 2 {
		if try > 0 {
			t := time.NewTimer(alreadyWait)
			select {
			case <-ctx.Done():
				t.Stop()
				return "", fmt.Errorf("look for what was sent: %w", ctx.Err())
			case <-t.C:
			}
		}
		var page struct {
			Chunk []json.RawMessage `json:"chunk"`
		}
		q := url.Values{"dir": {"b"}, "limit": {strconv.Itoa(alreadyPage)}}
		err := s.call(ctx, callTimeout, request{method: http.MethodGet, path: []any{"v3", "rooms", r.id, "messages"}, query: q, result: &page})
		if err != nil {
			return "", fmt.Errorf("look for what was sent: %w", err)
		}
		for _, e := range readEvents(page.Chunk) {
			if e.Sender != c.opts.UserID {
				continue
			}
			if e.Type == typeEncrypted && s.crypto != nil {
				e, _ = s.open(ctx, r.id, e)
			}
			if e.Txn == txn || marked(e, mark, fresh) {
				return e.ID, nil
			}
		}
	}
	return "", nil
}

// marked tells whether an event is one that we sent with a mark.
func marked(e event, mark string, fresh bool) bool {
	f := e.fields()
	return e.Type == typeMessage && text(f[sentMark]) == mark && (!fresh || f["m.new_content"] == nil)
}
