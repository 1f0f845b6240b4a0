package agenttest

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"
)

const codeReplaced = 1752041

// updates answers a poll as soon as there are events at or after the offset, or when the
// time is over. A newer poll ends an older one.
func (s *Server) updates(w http.ResponseWriter, r *http.Request, a *agent) {
	s.Lock()
	next := a.next
	s.Unlock()
	offset, limit, wait, err := parameters(r, next)
	if err != nil {
		refuse(w, Failure{HTTP: 400, Code: 131009, Details: err.Error()})
		return
	}
	s.Lock()
	if a.poller != nil {
		close(a.poller)
		a.ended++
	}
	replaced := make(chan struct{})
	a.poller = replaced
	a.offsets = append(a.offsets, offset)
	s.Unlock()
	over := time.NewTimer(wait)
	defer over.Stop()
	for {
		s.Lock()
		body, changed := a.after(offset, limit), s.Changed()
		s.Unlock()
		if body != nil {
			s.end(a, replaced)
			answer(w, body)
			return
		}
		select {
		case <-changed:
		case <-replaced:
			refuse(w, Failure{HTTP: 409, Code: codeReplaced})
			return
		case <-over.C:
			s.end(a, replaced)
			w.WriteHeader(http.StatusNoContent)
			return
		case <-r.Context().Done():
			s.end(a, replaced)
			return
		case <-s.Ctx.Done():
			return
		}
	}
}

// end ends a poll that was not replaced.
func (s *Server) end(a *agent, poller chan struct{}) {
	s.Lock()
	defer s.Unlock()
	if a.poller == poller {
		a.poller = nil
	}
}

// parameters parses the query with the platform's bounds. Without an offset, the poll
// starts at the next event.
func parameters(r *http.Request, next int64) (offset int64, limit int, wait time.Duration, err error) {
	q := r.URL.Query()
	number := func(name string, def int64) int64 {
		if !q.Has(name) {
			return def
		}
		n, bad := strconv.ParseInt(q.Get(name), 10, 64)
		if bad != nil {
			err = fmt.Errorf("%s is no integer", name)
		}
		return n
	}
	offset = max(0, number("offset", next))
	limit = int(min(number("limit", 50), 100))
	if limit <= 0 {
		limit = 50
	}
	wait = time.Duration(min(max(0, number("timeout", 15)), 25)) * time.Second
	return offset, limit, wait, err
}

// after returns the body with the events at or after offset, or nil. The caller holds the
// lock.
func (a *agent) after(offset int64, limit int) any {
	messages, statuses := []json.RawMessage{}, []json.RawMessage{}
	next := int64(0)
	for _, e := range a.events {
		if e.offset < offset || len(messages)+len(statuses) == limit {
			continue
		}
		next = e.offset + 1
		if e.wamid != "" {
			messages = append(messages, e.item)
		} else {
			statuses = append(statuses, e.item)
		}
	}
	if next == 0 {
		return nil
	}
	value := map[string]any{
		"messaging_product": "whatsapp", "messages": messages, "statuses": statuses,
		"contacts": []any{map[string]any{"wa_id": a.creator, "profile": map[string]any{"name": "Alex"}}},
	}
	return map[string]any{
		"object": "whatsapp_agent_platform", "next_offset": next,
		"entry": []any{map[string]any{"id": a.id, "changes": []any{map[string]any{"field": "messages", "value": value}}}},
	}
}

// Say lets the person write text, and returns the wamid.
func (s *Server) Say(key, text string) string {
	return s.Write(key, time.Now(), map[string]any{"type": "text", "text": map[string]any{"body": text}})
}

// Write lets the person send a message at a time, with the given fields beyond
// sender, id and time, and returns the wamid.
func (s *Server) Write(key string, at time.Time, fields map[string]any) string {
	s.Lock()
	defer s.Unlock()
	s.ids++
	a := s.agents[key]
	id := fmt.Sprintf("wamid.IN%04d", s.ids)
	m := map[string]any{"from": a.creator, "id": id, "timestamp": strconv.FormatInt(at.Unix(), 10)}
	maps.Copy(m, fields)
	s.add(a, id, m)
	return id
}

// Read lets the person read a message.
func (s *Server) Read(key string, m Message) {
	s.Lock()
	defer s.Unlock()
	s.receipt(s.agents[key], m, "read")
}

// receipt adds a receipt. The caller holds the lock.
func (s *Server) receipt(a *agent, m Message, state string) {
	s.add(a, "", map[string]any{"id": m.ID, "status": state, "recipient_id": m.To,
		"timestamp": strconv.FormatInt(time.Now().Unix(), 10)})
}

// Again offers the last message again, at a new offset.
func (s *Server) Again(key string) {
	s.Lock()
	defer s.Unlock()
	a := s.agents[key]
	e := a.last
	e.offset = a.next
	a.next++
	a.events = append(a.events, e)
	s.Signal()
}

// add adds an event. The caller holds the lock.
func (s *Server) add(a *agent, wamid string, item map[string]any) {
	raw, err := json.Marshal(item)
	if err != nil {
		raw = []byte("{}")
	}
	e := event{offset: a.next, wamid: wamid, item: raw}
	if wamid != "" {
		a.last = e
	}
	a.events = append(a.events, e)
	a.next++
	s.Signal()
}

// Behind returns the number of messages at or after a cursor.
func (s *Server) Behind(key string, cursor int64) int {
	s.Lock()
	defer s.Unlock()
	n := 0
	for _, e := range s.agents[key].events {
		if e.wamid != "" && e.offset >= cursor {
			n++
		}
	}
	return n
}

// Offsets returns the offsets requested by polls.
func (s *Server) Offsets(key string) []int64 {
	s.Lock()
	defer s.Unlock()
	return slices.Clone(s.agents[key].offsets)
}

// Replaced returns the number of polls ended by newer ones.
func (s *Server) Replaced(key string) int {
	s.Lock()
	defer s.Unlock()
	return s.agents[key].ended
}

// AddFile stores a file that people can send, and returns the object for it in a message,
// without caption and other options.
func (s *Server) AddFile(data []byte, mime string) map[string]any {
	s.Lock()
	defer s.Unlock()
	sum := sha256.Sum256(data)
	return map[string]any{"id": s.keepFile(file{data: data, mime: mime}), "mime_type": mime,
		"sha256": base64.StdEncoding.EncodeToString(sum[:])}
}

// Sent returns an agent's messages in order.
func (s *Server) Sent(key string) []Message {
	s.Lock()
	defer s.Unlock()
	return slices.Clone(s.agents[key].sent)
}

// Typed returns the wamids for which a typing indicator was shown.
func (s *Server) Typed(key string) []string {
	s.Lock()
	defer s.Unlock()
	return slices.Clone(s.agents[key].typed)
}
