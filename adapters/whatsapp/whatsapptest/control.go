package whatsapptest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// CloseWindow closes a person's 24-hour window until they write.
func (s *Server) CloseWindow(p Person) {
	s.Lock()
	defer s.Unlock()
	s.closed[address(p)] = true
}

// address returns the address of messages to p.
func address(p Person) string {
	if p.UserID != "" {
		return p.UserID
	}
	return "+" + p.Phone
}

// Silence stops statuses.
func (s *Server) Silence() {
	s.Lock()
	defer s.Unlock()
	s.silent = true
}

// Configure sets the state of the account: whether webhooks are subscribed, the token's
// permissions and the number's quality.
func (s *Server) Configure(subscribed bool, scopes []string, quality string) {
	s.Lock()
	defer s.Unlock()
	s.subscribed, s.scopes, s.quality = subscribed, scopes, quality
}

// Sent returns the sent messages in order.
func (s *Server) Sent() []Message {
	s.Lock()
	defer s.Unlock()
	return slices.Clone(s.sent)
}

// Typed returns the wamids for which a typing indicator was shown.
func (s *Server) Typed() []string {
	s.Lock()
	defer s.Unlock()
	return slices.Clone(s.typed)
}

// Pending returns the number of webhooks that were not answered 200.
func (s *Server) Pending() int {
	s.Lock()
	defer s.Unlock()
	return len(s.queue)
}

// control serves the methods of the package as HTTP requests:
//
//	POST /control/webhook      {"url": "http://127.0.0.1:8080/webhooks/whatsapp"}
//	POST /control/say          {"phone": "16505551234", "user_id": "US.1", "name": "Ada", "text": "hello"} → {"id": "wamid.…"}
//	POST /control/press        {"phone": "16505551234", "message": "wamid.…", "text": "Read"}
//	POST /control/offer        a body, posted unchanged
//	POST /control/fail         {"what": "messages", "n": 1, "http": 429, "code": 130429}
//	POST /control/closewindow  {"phone": "16505551234"}
//	GET  /control/sent         → the messages of the business
//	GET  /control/errors       → errors of requests
func (s *Server) control(w http.ResponseWriter, r *http.Request) {
	var in struct {
		URL, Phone, Name, Text, What, Message string
		UserID                                string `json:"user_id"`
		N                                     int
		Failure
	}
	raw := json.RawMessage{}
	if r.Method == http.MethodPost {
		if err := json.NewDecoder(r.Body).Decode(&raw); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		_ = json.Unmarshal(raw, &in)
	}
	person := Person{Phone: in.Phone, UserID: in.UserID, Name: in.Name}
	switch r.Method + " " + strings.TrimPrefix(r.URL.Path, "/control/") {
	case "POST webhook":
		s.Webhook(in.URL)
		answer(w, true)
	case "POST say":
		answer(w, map[string]string{"id": s.Say(person, in.Text)})
	case "POST press":
		answer(w, map[string]string{"id": s.Press(person, s.message(in.Message), in.Text)})
	case "POST offer":
		s.Offer(raw)
		answer(w, true)
	case "POST fail":
		s.Fail(in.What, max(1, in.N), in.Failure)
		answer(w, true)
	case "POST closewindow":
		s.CloseWindow(person)
		answer(w, true)
	case "GET sent":
		answer(w, append([]Message{}, s.Sent()...))
	case "GET errors":
		answer(w, s.problems())
	default:
		http.NotFound(w, r)
	}
}

// message returns the sent message with an id.
func (s *Server) message(id string) Message {
	sent := s.Sent()
	if i := slices.IndexFunc(sent, func(m Message) bool { return m.ID == id }); i >= 0 {
		return sent[i]
	}
	return Message{ID: id}
}

func (s *Server) problems() []string {
	list := []string{}
	for _, e := range s.Errors() {
		list = append(list, e.Error())
	}
	return list
}
