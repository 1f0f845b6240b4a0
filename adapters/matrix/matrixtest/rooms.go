package matrixtest

import (
	"encoding/json"
	"fmt"
)

// Users of the bridge of portals.
const (
	Bot      = "@signalbot:hs.test"
	Receiver = "00000000-aaaa-4000-8000-000000000001"
)

// Ghost returns the MXID of a ghost.
func Ghost(remote string) string { return "@signal_" + remote + ":hs.test" }

// Direct creates a direct chat of a person that the account has joined.
func (s *Server) Direct(person string) string {
	id := s.newRoom(person)
	s.Member(id, person, "join")
	s.Member(id, s.User, "invite", person)
	s.Member(id, s.User, "join")
	return id
}

// Invite creates a direct chat of a person to which the account is invited.
func (s *Server) Invite(person string) string {
	id := s.newRoom(person)
	s.Member(id, person, "join")
	s.Member(id, s.User, "invite", person)
	return id
}

// Portal creates the portal room of a direct chat on the bridged network that the account
// has joined.
func (s *Server) Portal(remote string) string {
	id := s.newRoom(Bot)
	s.Member(id, Bot, "join")
	s.State(id, Bot, "m.bridge", "hs.test/signal", BridgeState(remote, "dm"))
	s.State(id, Bot, "uk.half-shot.bridge", "hs.test/signal", BridgeState(remote, "dm"))
	s.State(id, Bot, "io.element.functional_members", "",
		map[string]any{"service_members": []string{Ghost(Receiver), Bot}})
	s.Member(id, s.User, "invite", Bot)
	s.Member(id, s.User, "join")
	s.Member(id, Ghost(remote), "join")
	return id
}

// BridgeState returns the content of m.bridge.
func BridgeState(remote, kind string) map[string]any {
	return map[string]any{
		"bridgebot": Bot, "creator": Bot,
		"channel":              map[string]any{"id": remote, "fi.mau.receiver": Receiver},
		"protocol":             map[string]any{"id": "signal", "displayname": "Signal"},
		"com.beeper.room_type": kind, "com.beeper.room_type.v2": kind,
	}
}

func (s *Server) newRoom(creator string) string {
	s.Lock()
	id := fmt.Sprintf("!room%d:hs.test", len(s.rooms)+1)
	s.room(id)
	s.Unlock()
	s.State(id, creator, "m.room.create", "", map[string]any{"room_version": "10"})
	return id
}

// state returns the state before the event with an index.
func (r *room) state(before int) map[string]Event {
	out := map[string]Event{}
	for _, e := range r.timeline[:before] {
		if e.StateKey != nil {
			out[e.Type+" "+*e.StateKey] = e
		}
	}
	return out
}

// Membership returns a user's membership in a room.
func (s *Server) Membership(room, user string) string {
	s.Lock()
	defer s.Unlock()
	m, _ := s.room(room).membership(user)
	return m
}

func (r *room) membership(user string) (string, int) {
	e, ok := r.state(len(r.timeline))["m.room.member "+user]
	if !ok {
		return "", 0
	}
	var c struct {
		Membership string `json:"membership"`
	}
	_ = json.Unmarshal(e.Content, &c)
	return c.Membership, r.since(user, c.Membership)
}

// since returns the position at which a user's membership began.
func (r *room) since(user, membership string) int {
	pos := 0
	last := ""
	for _, e := range r.timeline {
		if e.Type != "m.room.member" || e.StateKey == nil || *e.StateKey != user {
			continue
		}
		var c struct {
			Membership string `json:"membership"`
		}
		_ = json.Unmarshal(e.Content, &c)
		if c.Membership != last && c.Membership == membership {
			pos = e.pos
		}
		last = c.Membership
	}
	return pos
}
