// Package matrixtest is a Matrix homeserver for tests, seen by one account: sync
// with tokens, limited timelines and long polling, paging back, state, sending
// with transaction ids, invitations, receipts, media, and faults.
package matrixtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/everthread/everthread/adapters/servicetest"
)

// Token is an access token that is valid from the start.
const Token = "syt_token"

// Password is the account's password.
const Password = "correct horse"

// Event is an event on the server.
type Event struct {
	ID       string          `json:"event_id"`
	Type     string          `json:"type"`
	Sender   string          `json:"sender"`
	TS       int64           `json:"origin_server_ts"`
	StateKey *string         `json:"state_key,omitempty"`
	Redacts  string          `json:"redacts,omitempty"`
	Content  json.RawMessage `json:"content"`
	Unsigned map[string]any  `json:"unsigned,omitempty"`

	pos int
}

// Text returns the body that a client shows; for an edit, the new one.
func (e Event) Text() string {
	var c struct {
		Body string `json:"body"`
		New  struct {
			Body string `json:"body"`
		} `json:"m.new_content"`
	}
	_ = json.Unmarshal(e.Content, &c)
	if c.New.Body != "" {
		return c.New.Body
	}
	return c.Body
}

type room struct {
	id       string
	timeline []Event
	receipts []receipt
}

type receipt struct {
	pos               int
	event, user, kind string
}

// Failure is a failure of the next requests of a kind.
type Failure struct {
	Code       int    // HTTP status; 0: no answer until the caller gives up
	Err        string // Matrix error code
	RetryAfter int    // milliseconds
	Soft       bool   // of a logout
	Drop       bool   // carried out, but the connection is closed instead of an answer
}

// Server is the homeserver.
type Server struct {
	User string
	servicetest.Server[Failure]

	now    time.Time
	pos    int
	rooms  map[string]*room
	order  []string
	tokens map[string]string // access token → device
	others map[string]string // access token → user, if not User
	txns   map[string]string // device, path → event id
	sent   []sentEvent
	acked  int
	held   bool // to-device messages are held
	media  map[string][]byte
	marks  []string // read marks and typing, as "read room event"
	keys   keys
	logins int
}

type sentEvent struct {
	room string
	Event
}

// New starts a homeserver for the account user, such as @assistant:hs.test.
func New(user string) *Server {
	s := &Server{
		User: user, now: time.Now(), rooms: map[string]*room{},
		tokens: map[string]string{Token: "DEVICE"}, others: map[string]string{}, txns: map[string]string{},
		media: map[string][]byte{},
	}
	if err := s.Start(s.routes(), ""); err != nil {
		panic(err)
	}
	return s
}

// SetNow sets the server's clock.
func (s *Server) SetNow(now time.Time) {
	s.Lock()
	defer s.Unlock()
	s.now = now
}

func (s *Server) room(id string) *room {
	r := s.rooms[id]
	if r == nil {
		r = &room{id: id}
		s.rooms[id] = r
		s.order = append(s.order, id)
	}
	return r
}

// Post adds an event as sender and returns its id.
func (s *Server) Post(room, sender, kind string, content any) string {
	return s.PostAt(room, sender, kind, content, time.Time{})
}

// PostAt adds an event with its own time, as bridges do.
func (s *Server) PostAt(room, sender, kind string, content any, at time.Time) string {
	s.Lock()
	defer s.Unlock()
	return s.add(room, Event{Type: kind, Sender: sender, Content: raw(content), TS: s.millis(at)})
}

// State sets state as sender and returns the event's id.
func (s *Server) State(room, sender, kind, key string, content any) string {
	s.Lock()
	defer s.Unlock()
	return s.add(room, Event{Type: kind, Sender: sender, StateKey: &key, Content: raw(content), TS: s.millis(time.Time{})})
}

// Say posts a text message.
func (s *Server) Say(room, sender, text string) string {
	return s.Post(room, sender, "m.room.message", map[string]any{"msgtype": "m.text", "body": text})
}

// Member sets a member's state, as the member themselves unless by is given.
func (s *Server) Member(room, user, membership string, by ...string) string {
	sender := user
	if len(by) > 0 {
		sender = by[0]
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(user, "@"), ":")
	return s.State(room, sender, "m.room.member", user, map[string]any{"membership": membership, "displayname": name})
}

func (s *Server) millis(at time.Time) int64 {
	if at.IsZero() {
		at = s.now
	}
	return at.UnixMilli()
}

func raw(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// add appends an event. The caller holds the lock.
func (s *Server) add(id string, e Event) string {
	s.pos++
	e.pos = s.pos
	if e.ID == "" {
		e.ID = fmt.Sprintf("$event%d", s.pos)
	}
	r := s.room(id)
	if e.StateKey != nil {
		if was, ok := r.state(len(r.timeline))[e.Type+" "+*e.StateKey]; ok {
			e.Unsigned = map[string]any{"prev_content": was.Content}
		}
	}
	r.timeline = append(r.timeline, e)
	s.Signal()
	return e.ID
}

// Again offers an event again.
func (s *Server) Again(id string) {
	s.Lock()
	defer s.Unlock()
	for _, r := range s.rooms {
		if i := slices.IndexFunc(r.timeline, func(e Event) bool { return e.ID == id }); i >= 0 {
			s.add(r.id, r.timeline[i])
			return
		}
	}
}

// Receipt sets a read mark.
func (s *Server) Receipt(room, event, user string) {
	s.Lock()
	defer s.Unlock()
	s.pos++
	r := s.room(room)
	r.receipts = append(r.receipts, receipt{pos: s.pos, event: event, user: user, kind: "m.read"})
	s.Signal()
}

// Sent returns the account's events in a room, in order.
func (s *Server) Sent(room string) []Event {
	s.Lock()
	defer s.Unlock()
	var out []Event
	for _, e := range s.sent {
		if e.room == room {
			out = append(out, e.Event)
		}
	}
	return out
}

// Marks returns the account's read marks and typing notices, such as "read !room $event"
// and "typing !room true".
func (s *Server) Marks() []string {
	s.Lock()
	defer s.Unlock()
	return slices.Clone(s.marks)
}

// Position returns the present token.
func (s *Server) Position() string {
	s.Lock()
	defer s.Unlock()
	return "s" + strconv.Itoa(s.pos)
}

// Unacknowledged returns the number of messages of others after the last used token.
func (s *Server) Unacknowledged() int {
	s.Lock()
	defer s.Unlock()
	n := 0
	for _, r := range s.rooms {
		for _, e := range r.timeline {
			if e.pos > s.acked && e.Type == "m.room.message" && e.Sender != s.User {
				n++
			}
		}
	}
	return n
}

// Revoke ends every session.
func (s *Server) Revoke() {
	s.Lock()
	defer s.Unlock()
	clear(s.tokens)
}

// Devices returns the logged-in devices.
func (s *Server) Devices() []string {
	s.Lock()
	defer s.Unlock()
	var out []string
	for _, d := range s.tokens {
		out = append(out, d)
	}
	slices.Sort(out)
	return out
}

func (s *Server) routes() http.Handler {
	m := http.NewServeMux()
	const base = "/_matrix/client/"
	m.HandleFunc("GET "+base+"versions", func(w http.ResponseWriter,
		_ *http.Request) {
		answer(w, map[string]any{"versions": []string{"v1.11"}})
	})
	m.HandleFunc("POST "+base+"v3/login", s.kind("login", s.login))
	m.HandleFunc("GET "+base+"v3/account/whoami", s.authed("whoami", s.whoami))
	m.HandleFunc("GET "+base+"v3/sync", s.authed("sync", s.sync))
	m.HandleFunc("GET "+base+"v3/joined_rooms", s.authed("joined_rooms", s.joinedRooms))
	m.HandleFunc("POST "+base+"v3/join/{room}", s.authed("join", s.join))
	m.HandleFunc("GET "+base+"v3/rooms/{room}/state", s.authed("state", s.roomState))
	m.HandleFunc("GET "+base+"v3/rooms/{room}/messages", s.authed("messages", s.messages))
	m.HandleFunc("GET "+base+"v3/rooms/{room}/event/{event}", s.authed("event", s.event))
	m.HandleFunc("PUT "+base+"v3/rooms/{room}/send/{type}/{txn}", s.authed("send", s.send))
	m.HandleFunc("PUT "+base+"v3/rooms/{room}/redact/{event}/{txn}", s.authed("redact", s.redact))
	m.HandleFunc("PUT "+base+"v3/rooms/{room}/typing/{user}", s.authed("typing", s.typing))
	m.HandleFunc("POST "+base+"v3/rooms/{room}/receipt/m.read/{event}", s.authed("receipt", s.read))
	m.HandleFunc("GET "+base+"v3/profile/{user}", s.authed("profile", s.profile))
	m.HandleFunc("POST /_matrix/media/v3/upload", s.authed("upload", s.upload))
	m.HandleFunc("GET "+base+"v1/media/download/{server}/{id}", s.authed("download", s.download))
	s.keyRoutes(m)
	m.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { refuse(w, 404, "M_UNRECOGNIZED", nil) })
	return m
}
