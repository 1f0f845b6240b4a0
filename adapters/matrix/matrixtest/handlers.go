package matrixtest

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

func refuse(w http.ResponseWriter, status int, code string, more map[string]any) {
	body := map[string]any{"errcode": code, "error": strings.ToLower(code)}
	maps.Copy(body, more)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

// kind counts a request and applies its failure, if any.
func (s *Server) kind(name string, h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		f, failing := s.Begin(name)
		switch {
		case !failing:
			h(w, r)
		case f.Drop:
			h(&discard{header: http.Header{}}, r)
			panic(http.ErrAbortHandler)
		case f.Code == 0:
			_, _ = io.Copy(io.Discard, r.Body)
			s.Hang(r)
		default:
			more := map[string]any{}
			if f.RetryAfter > 0 {
				more["retry_after_ms"] = f.RetryAfter
			}
			if f.Soft {
				more["soft_logout"] = true
			}
			refuse(w, f.Code, f.Err, more)
		}
	}
}

type discard struct{ header http.Header }

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(b []byte) (int, error) { return len(b), nil }
func (d *discard) WriteHeader(int)             {}

func (s *Server) authed(name string, h http.HandlerFunc) http.HandlerFunc {
	return s.kind(name, func(w http.ResponseWriter, r *http.Request) {
		s.Lock()
		_, ok := s.tokens[token(r)]
		s.Unlock()
		if !ok {
			refuse(w, 401, "M_UNKNOWN_TOKEN", map[string]any{"soft_logout": true})
			return
		}
		h(w, r)
	})
}

func token(r *http.Request) string {
	return strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
}

func (s *Server) login(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Password string `json:"password"`
		Device   string `json:"device_id"`
	}
	_ = json.NewDecoder(r.Body).Decode(&in)
	if in.Password != Password {
		refuse(w, 403, "M_FORBIDDEN", nil)
		return
	}
	s.Lock()
	defer s.Unlock()
	s.logins++
	if in.Device == "" {
		in.Device = fmt.Sprintf("NEW%d", s.logins)
	}
	t := fmt.Sprintf("login-%d", s.logins)
	s.tokens[t] = in.Device
	answer(w, map[string]string{"user_id": s.User, "access_token": t, "device_id": in.Device})
}

func (s *Server) whoami(w http.ResponseWriter, r *http.Request) {
	s.Lock()
	defer s.Unlock()
	answer(w, map[string]string{"user_id": s.user(r), "device_id": s.tokens[token(r)]})
}

func (s *Server) joinedRooms(w http.ResponseWriter, _ *http.Request) {
	s.Lock()
	defer s.Unlock()
	out := []string{}
	for _, id := range s.order {
		if m, _ := s.rooms[id].membership(s.User); m == "join" {
			out = append(out, id)
		}
	}
	answer(w, map[string]any{"joined_rooms": out})
}

func (s *Server) join(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("room")
	s.Lock()
	defer s.Unlock()
	switch m, _ := s.room(id).membership(s.User); m {
	case "join":
	case "invite":
		key := s.User
		s.add(id, Event{Type: "m.room.member", Sender: s.User, StateKey: &key,
			Content: raw(map[string]string{"membership": "join"}), TS: s.millis(time.Time{})})
	default:
		refuse(w, 403, "M_FORBIDDEN", nil)
		return
	}
	answer(w, map[string]string{"room_id": id})
}

func (s *Server) roomState(w http.ResponseWriter, r *http.Request) {
	s.Lock()
	defer s.Unlock()
	room := s.room(r.PathValue("room"))
	if m, _ := room.membership(s.User); m != "join" {
		refuse(w, 403, "M_FORBIDDEN", nil)
		return
	}
	answer(w, sorted(room.state(len(room.timeline))))
}

func sorted(state map[string]Event) []Event {
	out := []Event{}
	for _, e := range state {
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b Event) int { return a.pos - b.pos })
	return out
}

// messages pages back. A token is "p" and the index of the event before which the next
// page ends.
func (s *Server) messages(w http.ResponseWriter, r *http.Request) {
	s.Lock()
	defer s.Unlock()
	room := s.room(r.PathValue("room"))
	q := r.URL.Query()
	var f struct {
		Types []string `json:"types"`
	}
	_ = json.Unmarshal([]byte(q.Get("filter")), &f)
	limit, _ := strconv.Atoi(q.Get("limit"))
	i, err := strconv.Atoi(strings.TrimPrefix(q.Get("from"), "p"))
	if q.Get("from") == "" {
		i, err = len(room.timeline), nil
	}
	if err != nil || q.Get("dir") != "b" {
		refuse(w, 400, "M_INVALID_PARAM", nil)
		return
	}
	chunk := []Event{}
	for i = min(i, len(room.timeline)); i > 0 && len(chunk) < max(1, limit); i-- {
		if e := room.timeline[i-1]; len(f.Types) == 0 || slices.Contains(f.Types, e.Type) {
			chunk = append(chunk, e)
		}
	}
	out := map[string]any{"start": q.Get("from"), "chunk": chunk}
	if i > 0 {
		out["end"] = "p" + strconv.Itoa(i)
	}
	answer(w, out)
}

func (s *Server) event(w http.ResponseWriter, r *http.Request) {
	s.Lock()
	defer s.Unlock()
	for _, e := range s.room(r.PathValue("room")).timeline {
		if e.ID == r.PathValue("event") {
			answer(w, e)
			return
		}
	}
	refuse(w, 404, "M_NOT_FOUND", nil)
}

func (s *Server) send(w http.ResponseWriter, r *http.Request) {
	var content json.RawMessage
	if json.NewDecoder(r.Body).Decode(&content) != nil {
		refuse(w, 400, "M_NOT_JSON", nil)
		return
	}
	id := r.PathValue("room")
	s.Lock()
	defer s.Unlock()
	if m, _ := s.room(id).membership(s.User); m != "join" {
		refuse(w, 403, "M_FORBIDDEN", nil)
		return
	}
	if len(content) > 65_000 {
		refuse(w, 413, "M_TOO_LARGE", nil)
		return
	}
	key := s.tokens[token(r)] + r.URL.Path
	if was, ok := s.txns[key]; ok {
		answer(w, map[string]string{"event_id": was})
		return
	}
	e := Event{
		Type: r.PathValue("type"), Sender: s.User, Content: content, TS: s.millis(time.Time{}),
		Unsigned: map[string]any{"transaction_id": r.PathValue("txn")},
	}
	e.ID = s.add(id, e)
	s.txns[key] = e.ID
	s.sent = append(s.sent, sentEvent{room: id, Event: e})
	answer(w, map[string]string{"event_id": e.ID})
}

// redact removes the content of an event.
func (s *Server) redact(w http.ResponseWriter, r *http.Request) {
	id, target := r.PathValue("room"), r.PathValue("event")
	s.Lock()
	defer s.Unlock()
	room := s.room(id)
	n := slices.IndexFunc(room.timeline, func(e Event) bool { return e.ID == target })
	if n < 0 || room.timeline[n].Sender != s.User {
		refuse(w, 403, "M_FORBIDDEN", nil)
		return
	}
	room.timeline[n].Content = json.RawMessage("{}")
	for i := range s.sent {
		if s.sent[i].ID == target {
			s.sent[i].Content = json.RawMessage("{}")
		}
	}
	answer(w, map[string]string{"event_id": s.add(id, Event{Type: "m.room.redaction", Sender: s.User, Redacts: target,
		Content: json.RawMessage("{}"), TS: s.millis(time.Time{})})})
}

// ForgetTransactions lets the server forget the completed transactions, as some servers do
// when a request is interrupted.
func (s *Server) ForgetTransactions() {
	s.Lock()
	defer s.Unlock()
	clear(s.txns)
}

func (s *Server) typing(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Typing bool `json:"typing"`
	}
	_ = json.NewDecoder(r.Body).Decode(&in)
	s.Lock()
	defer s.Unlock()
	s.marks = append(s.marks, fmt.Sprintf("typing %s %t", r.PathValue("room"), in.Typing))
	s.Signal()
	answer(w, struct{}{})
}

func (s *Server) read(w http.ResponseWriter, r *http.Request) {
	s.Lock()
	defer s.Unlock()
	s.marks = append(s.marks, fmt.Sprintf("read %s %s", r.PathValue("room"), r.PathValue("event")))
	s.Signal()
	answer(w, struct{}{})
}

func (s *Server) profile(w http.ResponseWriter, r *http.Request) {
	answer(w, map[string]string{"displayname": "profile of " + r.PathValue("user")})
}

func (s *Server) upload(w http.ResponseWriter, r *http.Request) {
	data, _ := io.ReadAll(r.Body)
	s.Lock()
	defer s.Unlock()
	id := fmt.Sprintf("file%d", len(s.media))
	s.media[id] = data
	answer(w, map[string]string{"content_uri": "mxc://hs.test/" + id})
}

func (s *Server) download(w http.ResponseWriter, r *http.Request) {
	s.Lock()
	data, ok := s.media[r.PathValue("id")]
	s.Unlock()
	if !ok {
		refuse(w, 404, "M_NOT_FOUND", nil)
		return
	}
	_, _ = w.Write(data)
}

// AddMedia stores a file and returns its mxc address.
func (s *Server) AddMedia(data []byte) string {
	s.Lock()
	defer s.Unlock()
	id := fmt.Sprintf("file%d", len(s.media))
	s.media[id] = data
	return "mxc://hs.test/" + id
}
