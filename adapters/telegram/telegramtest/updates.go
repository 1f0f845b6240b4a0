package telegramtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

type update struct {
	id  int64
	raw json.RawMessage
}

type webhook struct {
	url, secret string
	lastError   string
	errorAt     time.Time
}

const (
	conflictPoll    = "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"
	conflictSet     = "Conflict: terminated by setWebhook request"
	conflictWebhook = "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first"
)

// getUpdates confirms the updates below the offset and waits for more. A newer call ends
// the waiting one.
func (s *Server) getUpdates(ctx context.Context, p params) (any, *refusal) {
	mine := make(chan string, 1)
	if f := s.takeOver(mine, p.int("offset")); f != nil {
		return nil, f
	}
	defer s.release(mine)
	limit := int(p.int("limit"))
	if limit < 1 || limit > 100 {
		limit = 100
	}
	timeout := time.NewTimer(time.Duration(min(p.int("timeout"), 50)) * time.Second)
	defer timeout.Stop()
	for {
		batch, changed := s.waiting(limit)
		if len(batch) > 0 {
			return batch, nil
		}
		select {
		case <-changed:
		case why := <-mine:
			return nil, &refusal{code: 409, description: why}
		case <-timeout.C:
			return batch, nil
		case <-ctx.Done():
			return batch, nil
		case <-s.Ctx.Done():
			return batch, nil
		}
	}
}

func (s *Server) takeOver(mine chan string, offset int64) *refusal {
	s.Lock()
	defer s.Unlock()
	if s.webhook.url != "" {
		return &refusal{code: 409, description: conflictWebhook}
	}
	s.endPoll(conflictPoll)
	s.poller = mine
	switch {
	case offset > 0:
		for len(s.queue) > 0 && s.queue[0].id < offset {
			s.queue = s.queue[1:]
		}
	case offset < 0:
		s.queue = s.queue[max(0, len(s.queue)+int(offset)):]
	}
	s.Signal()
	return nil
}

// endPoll ends the waiting poll, if any. The caller holds the lock.
func (s *Server) endPoll(why string) {
	if s.poller != nil {
		s.poller <- why
		s.poller = nil
	}
}

func (s *Server) release(mine chan string) {
	s.Lock()
	defer s.Unlock()
	if s.poller == mine {
		s.poller = nil
	}
}

// waiting returns the unconfirmed updates, and a channel that is closed at the next change.
func (s *Server) waiting(limit int) ([]json.RawMessage, <-chan struct{}) {
	s.Lock()
	defer s.Unlock()
	batch := []json.RawMessage{}
	for _, u := range s.queue[:min(limit, len(s.queue))] {
		batch = append(batch, u.raw)
	}
	return batch, s.Changed()
}

// setWebhook sets or, without a URL, deletes the webhook.
func (s *Server) setWebhook(p params) (any, *refusal) {
	s.Lock()
	defer s.Unlock()
	s.webhook = webhook{url: p.string("url"), secret: p.string("secret_token")}
	if s.webhook.url != "" {
		s.endPoll(conflictSet)
	}
	if p.string("drop_pending_updates") == "true" {
		s.queue = nil
	}
	s.Signal()
	return true, nil
}

func (s *Server) webhookInfo() any {
	s.Lock()
	defer s.Unlock()
	info := map[string]any{"url": s.webhook.url, "has_custom_certificate": false, "pending_update_count": len(s.queue)}
	if s.webhook.lastError != "" {
		info["last_error_message"] = s.webhook.lastError
		info["last_error_date"] = s.webhook.errorAt.Unix()
	}
	return info
}

// push posts updates to the webhook in order, each until it is answered with 2xx, until
// the server closes.
func (s *Server) push() {
	pause := 20 * time.Millisecond
	for {
		hook, u, changed := s.nextPush()
		if u == nil {
			select {
			case <-changed:
				continue
			case <-s.Ctx.Done():
				return
			}
		}
		err := s.post(hook, u)
		s.pushed(u.id, err)
		if err == nil {
			pause = 20 * time.Millisecond
			continue
		}
		t := time.NewTimer(pause)
		pause = min(2*pause, time.Second)
		select {
		case <-t.C:
		case <-s.Ctx.Done():
			t.Stop()
			return
		}
	}
}

func (s *Server) nextPush() (webhook, *update, <-chan struct{}) {
	s.Lock()
	defer s.Unlock()
	if s.webhook.url == "" || len(s.queue) == 0 {
		return webhook{}, nil, s.Changed()
	}
	u := s.queue[0]
	return s.webhook, &u, s.Changed()
}

func (s *Server) post(hook webhook, u *update) error {
	ctx, cancel := context.WithTimeout(s.Ctx, 60*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, hook.url, bytes.NewReader(u.raw))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if hook.secret != "" {
		req.Header.Set("X-Telegram-Bot-Api-Secret-Token", hook.secret)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return fmt.Errorf("wrong response from the webhook: %s", resp.Status)
	}
	return nil
}

func (s *Server) pushed(id int64, err error) {
	s.Lock()
	defer s.Unlock()
	if err != nil {
		s.webhook.lastError, s.webhook.errorAt = err.Error(), time.Now()
		return
	}
	if len(s.queue) > 0 && s.queue[0].id == id {
		s.queue = s.queue[1:]
	}
	s.Signal()
}
