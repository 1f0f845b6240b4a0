package whatsapptest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"unicode/utf16"
)

// request is a body of POST /{phone_number_id}/messages.
type request struct {
	To, Recipient, Type string
	RecipientType       string `json:"recipient_type"`
	Callback            string `json:"biz_opaque_callback_data"`
	Context             struct {
		MessageID string `json:"message_id"`
	}
	Text        *struct{ Body string }
	Interactive *struct {
		Body   struct{ Text string }
		Action struct {
			Buttons []struct{ Reply Button }
		}
	}
	Image, Audio, Video, Document *struct {
		ID, Caption, Filename string
		Voice                 bool
	}
	Template *struct {
		Name       string
		Components []struct {
			Type       string
			Parameters []struct{ Type, Text, Payload string }
		}
	}
	Status    string
	MessageID string           `json:"message_id"`
	Typing    *json.RawMessage `json:"typing_indicator"`
}

func (s *Server) messages(w http.ResponseWriter, r *http.Request, number string) {
	body, err := io.ReadAll(r.Body)
	var q request
	if err != nil || json.Unmarshal(body, &q) != nil || number != PhoneNumberID {
		refuse(w, Failure{HTTP: 400, Code: 100, Details: "Invalid parameter"})
		return
	}
	if q.Status != "" {
		s.status(w, q)
		return
	}
	if err := checkMessage(body); err != nil {
		s.Note(fmt.Errorf("message: %w", err))
	}
	if f := s.check(q); f != nil {
		refuse(w, *f)
		return
	}
	id := s.take(q)
	to := q.To
	if to == "" {
		to = q.Recipient
	}
	answer(w, map[string]any{
		"messaging_product": "whatsapp", "messages": []any{map[string]any{"id": id}},
		"contacts": []any{map[string]any{"input": to, "wa_id": strings.TrimPrefix(to, "+")}},
	})
}

// status records a read mark, with or without a typing indicator.
func (s *Server) status(w http.ResponseWriter, q request) {
	s.Lock()
	_, known := s.received[q.MessageID]
	if known && q.Typing != nil {
		s.typed = append(s.typed, q.MessageID)
		s.Signal()
	}
	s.Unlock()
	if !known || q.Status != "read" {
		refuse(w, Failure{HTTP: 400, Code: 131009, Details: "Parameter value is not valid: message_id"})
		return
	}
	answer(w, map[string]any{"success": true})
}

// check returns the service's refusal of a message.
func (s *Server) check(q request) *Failure {
	bad := func(details string) *Failure { return &Failure{HTTP: 400, Code: 131009, Details: details} }
	s.Lock()
	defer s.Unlock()
	caption := ""
	for _, m := range q.files() {
		caption = m.Caption
		if _, ok := s.files[m.ID]; !ok {
			return bad("media id is not known")
		}
	}
	switch {
	case q.To == "" && q.Recipient == "", q.RecipientType == "individual" && q.To != "" && !strings.HasPrefix(q.To, "+"):
		return bad("to: the number has no country code")
	case q.Type == "text" && (q.Text == nil || strings.TrimSpace(q.Text.Body) == ""):
		return &Failure{HTTP: 400, Code: 131008, Details: "Required parameter is missing: text.body"}
	case q.Type == "text" && units(q.Text.Body) > 4096:
		return &Failure{HTTP: 400, Code: 100, Details: "text.body is longer than 4096 characters"}
	case units(caption) > 1024, q.Audio != nil && q.Audio.Caption != "":
		return bad("caption")
	case q.Context.MessageID != "" && !s.knows(q.Context.MessageID):
		return bad("context.message_id is not known")
	case q.Template != nil && !q.fillable():
		return &Failure{HTTP: 400, Code: 132018, Details: "template parameters may hold no line breaks"}
	}
	return nil
}

// knows reports whether there is a message with an id. The caller holds the lock.
func (s *Server) knows(wamid string) bool {
	if _, ok := s.received[wamid]; ok {
		return true
	}
	for _, m := range s.sent {
		if m.ID == wamid {
			return true
		}
	}
	return false
}

// fillable reports whether the parameters are valid for a template.
func (q request) fillable() bool {
	for _, c := range q.Template.Components {
		for _, p := range c.Parameters {
			if p.Type == "text" && (strings.TrimSpace(p.Text) == "" || strings.ContainsAny(p.Text, "\n\t") ||
				strings.Contains(p.Text, "     ")) {
				return false
			}
		}
	}
	return true
}

type media = struct {
	ID, Caption, Filename string
	Voice                 bool
}

func (q request) files() []*media {
	var out []*media
	for _, m := range []*media{q.Image, q.Audio, q.Video, q.Document} {
		if m != nil {
			out = append(out, m)
		}
	}
	return out
}

// take stores a message and queues its statuses.
func (s *Server) take(q request) string {
	s.Lock()
	defer s.Unlock()
	s.ids++
	m := Message{
		ID: fmt.Sprintf("wamid.OUT%04d", s.ids), To: q.To, Recipient: q.Recipient, Type: q.Type,
		ReplyTo: q.Context.MessageID, Callback: q.Callback,
	}
	if q.Interactive != nil {
		m.Text = q.Interactive.Body.Text
		for _, b := range q.Interactive.Action.Buttons {
			m.Buttons = append(m.Buttons, b.Reply)
		}
	}
	if q.Text != nil {
		m.Text = q.Text.Body
	}
	for _, f := range q.files() {
		m.Text, m.Media, m.Filename, m.Voice = f.Caption, f.ID, f.Filename, f.Voice
	}
	if q.Template != nil {
		m.Template = q.Template.Name
		for _, c := range q.Template.Components {
			for _, p := range c.Parameters {
				m.Parameter, m.Payload = m.Parameter+p.Text, m.Payload+p.Payload
			}
		}
	}
	s.sent = append(s.sent, m)
	s.follow(m)
	s.Signal()
	return m.ID
}

// follow queues the statuses of a message. The caller holds the lock.
func (s *Server) follow(m Message) {
	if f, _ := s.Due("messages"); f.Later {
		s.Spend("messages")
		s.enqueue(statusBody(m, "failed", f.Code))
		return
	}
	if m.Template == "" && s.closed[m.To+m.Recipient] {
		s.enqueue(statusBody(m, "failed", 131047))
		return
	}
	if s.silent {
		return
	}
	s.enqueue(statusBody(m, "sent", 0))
	s.enqueue(statusBody(m, "delivered", 0))
}

func units(s string) int { return len(utf16.Encode([]rune(s))) }
