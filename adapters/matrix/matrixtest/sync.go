package matrixtest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

type filterPart struct {
	Types []string `json:"types"`
	Limit int      `json:"limit"`
}

func (f filterPart) takes(kind string) bool { return f.Types == nil || slices.Contains(f.Types, kind) }

type filter struct {
	Room struct {
		State, Timeline, Ephemeral filterPart
	} `json:"room"`
}

// sync answers as soon as there is anything after the token, or when the time is over.
func (s *Server) sync(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	var f filter
	if json.Unmarshal([]byte(q.Get("filter")), &f) != nil {
		refuse(w, 400, "M_INVALID_PARAM", nil)
		return
	}
	since, err := strconv.Atoi(strings.TrimPrefix(q.Get("since"), "s"))
	if q.Get("since") != "" && err != nil {
		refuse(w, 400, "M_INVALID_PARAM", nil)
		return
	}
	timeout, _ := strconv.Atoi(q.Get("timeout"))
	end := time.NewTimer(time.Duration(timeout) * time.Millisecond)
	defer end.Stop()
	for over := timeout == 0; ; {
		s.Lock()
		if s.user(r) == s.User {
			s.acked = max(s.acked, since)
		}
		changed := s.Changed()
		out, news := s.response(since, q.Get("since") == "", f)
		if s.user(r) != s.User {
			out, news = map[string]any{"next_batch": "s" + strconv.Itoa(s.pos)}, false
		}
		news = s.addKeys(out, s.user(r), s.tokens[token(r)], since) || news
		s.Unlock()
		if news || over {
			answer(w, out)
			return
		}
		select {
		case <-changed:
		case <-end.C:
			over = true
		case <-r.Context().Done():
			return
		case <-s.Ctx.Done():
			return
		}
	}
}

// response returns the response since a position, and whether it has anything new.
func (s *Server) response(since int, first bool, f filter) (map[string]any, bool) {
	join, invite, leave := map[string]any{}, map[string]any{}, map[string]any{}
	for _, id := range s.order {
		r := s.rooms[id]
		m, at := r.membership(s.User)
		switch {
		case m == "join":
			if j := s.joined(r, since, first || at > since, f); j != nil {
				join[id] = j
			}
		case m == "invite" && at > since:
			invite[id] = map[string]any{"invite_state": map[string]any{"events": s.stripped(r)}}
		case (m == "leave" || m == "ban") && at > since && !first:
			leave[id] = s.parted(r, since)
		}
	}
	out := map[string]any{"next_batch": "s" + strconv.Itoa(s.pos),
		"rooms": map[string]any{"join": join, "invite": invite, "leave": leave}}
	return out, len(join)+len(invite)+len(leave) > 0
}

func (s *Server) stripped(r *room) []Event {
	out := []Event{}
	for _, e := range sorted(r.state(len(r.timeline))) {
		if e.Type == "m.room.create" || e.Type == "m.room.member" && *e.StateKey == s.User {
			out = append(out, e)
		}
	}
	return out
}

func (s *Server) parted(r *room, since int) map[string]any {
	var events []Event
	for _, e := range r.timeline {
		if e.pos > since && e.Type == "m.room.member" && *e.StateKey == s.User {
			events = append(events, e)
		}
	}
	return map[string]any{"timeline": map[string]any{"events": events}}
}

// joined returns the part of the response for a joined room; whole: the client has not
// seen the room yet.
func (s *Server) joined(r *room, since int, whole bool, f filter) map[string]any {
	limit := f.Room.Timeline.Limit
	if limit == 0 {
		limit = 10
	}
	from := 0
	if !whole {
		from = slices.IndexFunc(r.timeline, func(e Event) bool { return e.pos > since })
		if from < 0 {
			from = len(r.timeline)
		}
	}
	var shown []Event
	begin := len(r.timeline)
	for begin > from && len(shown) < limit {
		begin--
		if e := r.timeline[begin]; f.Room.Timeline.takes(e.Type) {
			shown = append(shown, e)
		}
	}
	slices.Reverse(shown)
	var receipts []any
	for _, one := range r.receipts {
		if one.pos > since && f.Room.Ephemeral.takes("m.receipt") {
			receipts = append(receipts, map[string]any{"type": "m.receipt", "content": map[string]any{
				one.event: map[string]any{one.kind: map[string]any{one.user: map[string]any{"ts": s.millis(time.Time{})}}},
			}})
		}
	}
	state := s.stateBetween(r, from, begin, whole, f)
	if len(shown)+len(receipts)+len(state) == 0 {
		return nil
	}
	return map[string]any{
		"state": map[string]any{"events": state},
		"timeline": map[string]any{"events": shown, "limited": begin > from || whole && begin > 0,
			"prev_batch": "p" + strconv.Itoa(begin)},
		"ephemeral": map[string]any{"events": receipts},
	}
}

// stateBetween returns the state that the client needs before the timeline. Members are
// loaded lazily, except the account itself.
func (s *Server) stateBetween(r *room, from, begin int, whole bool, f filter) []Event {
	before := r.state(begin)
	if !whole {
		for key, known := range r.state(from) {
			if before[key].pos == known.pos {
				delete(before, key)
			}
		}
	}
	out := []Event{}
	for _, e := range sorted(before) {
		lazy := e.Type == "m.room.member" && *e.StateKey != s.User && whole
		if f.Room.State.takes(e.Type) && !lazy {
			out = append(out, e)
		}
	}
	return out
}
