// Package whatsapptest is a fake WhatsApp Cloud API server: webhooks are signed and
// repeated until they answer 200, statuses follow sent messages, the URLs of files expire,
// and errors come in the answer or later. If Meta's description of the API is available,
// every message is checked against it; Errors returns the errors.
//
// It serves one number. It is for tests and for manual trials of the gateway, see
// cmd/whatsapptest.
package whatsapptest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/everthread/everthread/adapters/servicetest"
)

// Ids and secrets of the number, app and business account.
const (
	PhoneNumberID = "106540352242922"
	DisplayNumber = "15550783881"
	Account       = "102290129340398"
	Token         = "EAATESTtoken"
	AppSecret     = "test-app-secret"
	VerifyToken   = "test-verify-token"
)

// Person is a user of WhatsApp. UserID or Phone may be empty.
type Person struct {
	Phone  string // digits
	UserID string // BSUID
	Name   string
}

// Button is a reply button below a message.
type Button struct {
	ID    string `json:"id"`
	Title string `json:"title"`
}

// Message is a message sent by the business.
type Message struct {
	ID        string   `json:"id"`
	To        string   `json:"to,omitempty"`
	Recipient string   `json:"recipient,omitempty"`
	Type      string   `json:"type"`
	Text      string   `json:"text,omitempty"` // or caption
	Buttons   []Button `json:"buttons,omitempty"`
	Media     string   `json:"media,omitempty"`
	Filename  string   `json:"filename,omitempty"`
	Voice     bool     `json:"voice,omitempty"`
	ReplyTo   string   `json:"reply_to,omitempty"`
	Callback  string   `json:"callback,omitempty"`
	Template  string   `json:"template,omitempty"`
	Parameter string   `json:"parameter,omitempty"` // of the template's body
	Payload   string   `json:"payload,omitempty"`   // of the template's button
}

// Failure is a failure of calls. With no field set, the call hangs until the client
// disconnects.
type Failure struct {
	HTTP    int    `json:"http,omitempty"`
	Code    int    `json:"code,omitempty"`
	Subcode int    `json:"subcode,omitempty"`
	Details string `json:"details,omitempty"`
	// Drop carries out the call and ends the connection without an answer.
	Drop bool `json:"drop,omitempty"`
	// Later accepts a message, and reports the failure with Code in a status.
	Later bool `json:"later,omitempty"`
}

// Server is a fake Cloud API server. Its methods may be called concurrently.
type Server struct {
	servicetest.Server[Failure]
	client *http.Client // calls the webhook

	hook       string
	queue      [][]byte // bodies that were not answered 200
	last       []byte   // the body with the last message of a person
	ids        int
	received   map[string]Person // wamids of people's messages
	sent       []Message
	typed      []string // wamids with a typing indicator
	files      map[string]*file
	addresses  map[string]string // of files: path → id
	closed     map[string]bool   // people whose window is closed
	silent     bool              // no statuses
	subscribed bool
	scopes     []string
	quality    string
}

type file struct {
	data []byte
	mime string
	name string
}

// New starts a server on 127.0.0.1. The caller must call Close.
func New() *Server {
	s, err := Listen("127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	return s
}

// Listen is New on the address addr, for manual use.
func Listen(addr string) (*Server, error) {
	s := &Server{
		client:   &http.Client{Transport: &http.Transport{}, Timeout: 20 * time.Second},
		received: map[string]Person{}, files: map[string]*file{},
		addresses: map[string]string{}, closed: map[string]bool{},
		subscribed: true, quality: "GREEN", scopes: []string{"whatsapp_business_messaging", "whatsapp_business_management"},
	}
	if err := s.Start(s, addr); err != nil {
		return nil, err
	}
	s.Go(s.push)
	return s, nil
}

// Close ends the server and its background work.
func (s *Server) Close() {
	s.Server.Close()
	s.client.CloseIdleConnections()
}

// ServeHTTP serves the Graph API, the files and the control paths.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/control/") {
		s.control(w, r)
		return
	}
	if r.Header.Get("Authorization") != "Bearer "+Token {
		refuse(w, Failure{HTTP: 401, Code: 190, Details: "Invalid OAuth access token - Cannot parse access token"})
		return
	}
	if r.UserAgent() == "" || strings.HasPrefix(r.UserAgent(), "Go-http-client") {
		s.Note(fmt.Errorf("%s: no User-Agent", r.URL.Path))
	}
	what, rest := route(r)
	if f, failing := s.failure(what); failing {
		s.fail(w, r, f, what, rest)
		return
	}
	s.serve(w, r, what, rest)
}

// route returns the purpose of a request, and the id in its path.
func route(r *http.Request) (what, id string) {
	_, path, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/") // without the version
	first, second, _ := strings.Cut(path, "/")
	switch {
	case strings.HasPrefix(r.URL.Path, "/file/"):
		return "file", r.URL.Path
	case second == "messages" && r.Method == http.MethodPost:
		return "messages", first
	case second == "media" && r.Method == http.MethodPost:
		return "media", first
	case second != "":
		return second, first
	case first == "debug_token":
		return "token", ""
	case first == PhoneNumberID:
		return "number", first
	}
	return "lookup", first
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request, what, id string) {
	switch what {
	case "messages":
		s.messages(w, r, id)
	case "media":
		s.upload(w, r)
	case "lookup":
		s.lookup(w, r, id)
	case "file":
		s.serveFile(w, r)
	default:
		s.manage(w, what, id)
	}
}

// failure removes and returns the next failure of what, unless it is a Later one.
func (s *Server) failure(what string) (Failure, bool) {
	s.Lock()
	f, _ := s.Due(what)
	s.Unlock()
	if f.Later {
		return Failure{}, false
	}
	return s.Begin(what)
}

// fail applies f to a call.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, f Failure, what, id string) {
	switch {
	case f.Drop:
		s.serve(httptest.NewRecorder(), r, what, id)
		panic(http.ErrAbortHandler)
	case f.HTTP == 0:
		s.Hang(r)
		panic(http.ErrAbortHandler)
	}
	refuse(w, f)
}

// refuse answers with an error of the Graph API.
func refuse(w http.ResponseWriter, f Failure) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(f.HTTP)
	if f.Code == 0 {
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{
		"message": fmt.Sprintf("(#%d) refused", f.Code), "type": "OAuthException", "code": f.Code, "error_subcode": f.Subcode,
		"error_data": map[string]any{"messaging_product": "whatsapp", "details": f.Details}, "fbtrace_id": "Atest",
	}})
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

// manage answers requests about the number, the token and the account.
func (s *Server) manage(w http.ResponseWriter, what, id string) {
	s.Lock()
	defer s.Unlock()
	apps := []any{}
	if s.subscribed {
		apps = append(apps, map[string]any{"whatsapp_business_api_data": map[string]any{"id": "67084", "name": "Test"}})
	}
	switch {
	case what == "number":
		answer(w, map[string]any{"id": id, "display_phone_number": "+1 555-078-3881", "verified_name": "Test",
			"quality_rating": s.quality})
	case what == "token":
		granted := []any{map[string]any{"scope": "whatsapp_business_management", "target_ids": []string{Account}}}
		answer(w, map[string]any{"data": map[string]any{"is_valid": true, "scopes": s.scopes, "expires_at": 0,
			"granular_scopes": granted}})
	case what == "phone_numbers" && id == Account:
		answer(w, map[string]any{"data": []any{map[string]any{"id": PhoneNumberID}}})
	case what == "subscribed_apps" && id == Account:
		answer(w, map[string]any{"data": apps})
	default:
		refuse(w, Failure{HTTP: 400, Code: 100, Subcode: 33, Details: "Unsupported request"})
	}
}
