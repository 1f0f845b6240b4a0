// Package agenttest is a fake of WhatsApp's Agent Platform: polling consumes nothing,
// marking a message as read removes it, a newer poll ends the older one, calls are counted
// in a rolling minute, cursors exceed 2^53, and a bad key looks like a bad request. Errors
// returns the errors of requests.
package agenttest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"time"

	"github.com/everthread/everthread/adapters/servicetest"
)

// FirstOffset is the offset of the first event of every agent. The following ones cannot
// be represented by a float.
const FirstOffset = int64(1) << 53

// Root is the path of the API below the server's URL.
const Root = "/agent/v1"

// Message is a message sent by an agent.
type Message struct {
	ID, To, Type, Text, Media, Filename, ReplyTo string
}

// Failure is a failure of calls. With no field set, the call hangs until the client
// disconnects.
type Failure struct {
	HTTP, Code int
	Details    string
	// Drop carries out the call and ends the connection without an answer.
	Drop bool
}

// Server is a server for any number of agents. Its methods may be called
// concurrently.
type Server struct {
	servicetest.Server[Failure]
	agents map[string]*agent
	ids    int
	files  map[string]file
}

// agent is the agent of one key.
type agent struct {
	id      string
	creator string
	next    int64
	events  []event
	poller  chan struct{} // closed when a newer poll begins
	calls   map[string][]time.Time
	sent    []Message
	typed   []string
	offsets []int64 // requested by polls
	ended   int     // polls ended by newer ones
	last    event   // the last message of the person
	sending bool
}

type event struct {
	offset int64
	wamid  string // "" for receipts
	item   json.RawMessage
}

type file struct {
	data []byte
	mime string
}

// limits are the allowed calls a minute.
var limits = map[string]int{"messages": 12, "statuses": 12, "updates": 15, "upload": 12, "lookup": 12, "delete": 12}

// New starts a server on 127.0.0.1. The caller must call Close.
func New() *Server {
	s := &Server{agents: map[string]*agent{}, files: map[string]file{}}
	if err := s.Start(s, ""); err != nil {
		panic(err)
	}
	return s
}

// URL returns the root of the API, for channels.whatsapp_agent.api_url.
func (s *Server) URL() string { return s.Server.URL() + Root }

// Add adds an agent with a key, created by creator, such as user:5.
func (s *Server) Add(key, creator string) {
	s.Lock()
	defer s.Unlock()
	s.ids++
	s.agents[key] = &agent{id: fmt.Sprint(123456000 + s.ids), creator: creator, next: FirstOffset,
		calls: map[string][]time.Time{}}
}

// Revoke makes a key invalid.
func (s *Server) Revoke(key string) {
	s.Lock()
	defer s.Unlock()
	delete(s.agents, key)
	s.Signal()
}

// Become changes the address of an agent's creator.
func (s *Server) Become(key, creator string) {
	s.Lock()
	defer s.Unlock()
	s.agents[key].creator = creator
}

// ServeHTTP serves the API and the files.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	secret, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !bearer || secret == "" {
		refuse(w, Failure{HTTP: 401, Code: 190})
		return
	}
	s.Lock()
	a := s.agents[secret]
	s.Unlock()
	if a == nil {
		refuse(w, Failure{HTTP: 400, Code: 100})
		return
	}
	what, id := route(r)
	if f := s.obstacle(a, what); f != nil {
		s.fail(w, r, a, *f, what, id)
		return
	}
	s.serve(w, r, a, what, id)
}

func route(r *http.Request) (what, id string) {
	if path, ok := strings.CutPrefix(r.URL.Path, "/file/"); ok {
		return "file", path
	}
	path := strings.TrimPrefix(r.URL.Path, Root+"/")
	id, isMedia := strings.CutPrefix(path, "media/")
	switch {
	case path == "media" && r.Method == http.MethodPost:
		return "upload", ""
	case isMedia && r.Method == http.MethodDelete:
		return "delete", id
	case isMedia:
		return "lookup", id
	}
	return path, ""
}

// obstacle counts a call and returns its failure, or nil.
func (s *Server) obstacle(a *agent, what string) *Failure {
	if s.tooMany(a, what) {
		s.Note(fmt.Errorf("%s: more than %d calls a minute", what, limits[what]))
		return &Failure{HTTP: 429, Code: 130429}
	}
	if f, failing := s.Begin(what); failing {
		return &f
	}
	return nil
}

func (s *Server) tooMany(a *agent, what string) bool {
	s.Lock()
	defer s.Unlock()
	now := time.Now()
	a.calls[what] = slices.DeleteFunc(a.calls[what], func(t time.Time) bool { return now.Sub(t) >= time.Minute })
	a.calls[what] = append(a.calls[what], now)
	most, ok := limits[what]
	return ok && len(a.calls[what]) > most
}

func (s *Server) fail(w http.ResponseWriter, r *http.Request, a *agent, f Failure, what, id string) {
	switch {
	case f.Drop:
		s.serve(httptest.NewRecorder(), r, a, what, id)
		panic(http.ErrAbortHandler)
	case f.HTTP == 0:
		s.Hang(r)
		panic(http.ErrAbortHandler)
	}
	refuse(w, f)
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request, a *agent, what, id string) {
	switch what {
	case "updates":
		s.updates(w, r, a)
	case "messages":
		s.messages(w, r, a)
	case "statuses":
		s.statuses(w, r, a)
	case "upload":
		s.upload(w, r)
	case "lookup":
		s.lookup(w, id)
	case "file":
		s.serveFile(w, id)
	default:
		s.Note(fmt.Errorf("%s: no such call", what))
		refuse(w, Failure{HTTP: 404, Code: 100})
	}
}

// refuse answers with an error of the platform.
func refuse(w http.ResponseWriter, f Failure) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(f.HTTP)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{
		"message": "refused", "type": "OAuthException", "code": f.Code, "fbtrace_id": "Atest",
		"error_data": map[string]any{"messaging_product": "whatsapp", "details": f.Details},
	}})
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}
