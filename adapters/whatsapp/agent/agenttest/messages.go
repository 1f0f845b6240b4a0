package agenttest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"unicode/utf16"
)

type media = struct{ ID, Caption, Filename string }

// request is a body of POST /messages or POST /statuses.
type request struct {
	Product string `json:"messaging_product"`
	To      string
	Type    string
	Context struct {
		MessageID string `json:"message_id"`
	}
	Text                          *struct{ Body string }
	Image, Audio, Video, Document *media
	Status                        string
	MessageID                     string           `json:"message_id"`
	Typing                        *json.RawMessage `json:"typing_indicator"`
}

func (q request) file() *media {
	for _, m := range []*media{q.Image, q.Audio, q.Video, q.Document} {
		if m != nil {
			return m
		}
	}
	return nil
}

func (s *Server) messages(w http.ResponseWriter, r *http.Request, a *agent) {
	var q request
	if json.NewDecoder(r.Body).Decode(&q) != nil {
		refuse(w, Failure{HTTP: 400, Code: 131009})
		return
	}
	defer s.alone(a)()
	s.Lock()
	defer s.Unlock()
	if f := s.check(q, a); f != nil {
		refuse(w, *f)
		return
	}
	s.ids++
	m := Message{ID: fmt.Sprintf("wamid.OUT%04d", s.ids), To: q.To, Type: q.Type, ReplyTo: q.Context.MessageID}
	if q.Text != nil {
		m.Text = q.Text.Body
	}
	if f := q.file(); f != nil {
		m.Text, m.Media, m.Filename = f.Caption, f.ID, f.Filename
	}
	a.sent = append(a.sent, m)
	s.receipt(a, m, "delivered")
	answer(w, map[string]any{
		"messaging_product": "whatsapp", "contacts": []any{map[string]any{"input": q.To, "wa_id": q.To}},
		"messages": []any{map[string]any{"id": m.ID}},
	})
}

// alone records an error if another message is being sent, until the returned function is
// called.
func (s *Server) alone(a *agent) func() {
	s.Lock()
	defer s.Unlock()
	if a.sending {
		s.Noted(errors.New("two messages at once"))
	}
	a.sending = true
	return func() {
		s.Lock()
		defer s.Unlock()
		a.sending = false
	}
}

// check returns the platform's refusal of a message. The caller holds the lock.
func (s *Server) check(q request, a *agent) *Failure {
	bad := func(details string) *Failure { return &Failure{HTTP: 400, Code: 131009, Details: details} }
	f := q.file()
	switch {
	case q.Product != "whatsapp" || !strings.HasPrefix(q.To, "user:"):
		return bad("to")
	case q.To != a.creator:
		return &Failure{HTTP: 403, Code: 131005}
	case q.Type == "text" && (q.Text == nil || strings.TrimSpace(q.Text.Body) == ""), q.Type != "text" && f == nil:
		return bad(q.Type)
	case q.Text != nil && units(q.Text.Body) > 4096, f != nil && units(f.Caption) > 1024:
		return &Failure{HTTP: 400, Code: 100, Details: "body"}
	case q.Audio != nil && (q.Audio.Caption != "" || q.Audio.Filename != ""):
		return bad("caption")
	case q.Context.MessageID != "" && !a.knows(q.Context.MessageID):
		return bad("context")
	}
	if f != nil {
		if _, ok := s.files[f.ID]; !ok {
			return bad("media")
		}
	}
	return nil
}

func (a *agent) knows(wamid string) bool {
	return slices.ContainsFunc(a.events, func(e event) bool { return e.wamid == wamid }) ||
		slices.ContainsFunc(a.sent, func(m Message) bool { return m.ID == wamid })
}

// statuses marks a message as read, which removes it but not its repeats.
func (s *Server) statuses(w http.ResponseWriter, r *http.Request, a *agent) {
	var q request
	err := json.NewDecoder(r.Body).Decode(&q)
	s.Lock()
	defer s.Unlock()
	if err != nil || q.Status != "read" || !strings.HasPrefix(q.MessageID, "wamid.IN") {
		refuse(w, Failure{HTTP: 400, Code: 131009, Details: "message_id"})
		return
	}
	if q.Typing != nil {
		a.typed = append(a.typed, q.MessageID)
	}
	if i := slices.IndexFunc(a.events, func(e event) bool { return e.wamid == q.MessageID }); i >= 0 {
		a.events = slices.Delete(a.events, i, i+1)
	}
	s.Signal()
	answer(w, map[string]any{"success": true})
}

func (s *Server) upload(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseMultipartForm(32 << 20); err != nil || r.FormValue("messaging_product") != "whatsapp" {
		refuse(w, Failure{HTTP: 400, Code: 131009, Details: "messaging_product"})
		return
	}
	f, header, err := r.FormFile("file")
	if err != nil {
		refuse(w, Failure{HTTP: 400, Code: 131009, Details: "file"})
		return
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	kind, _, bad := mime.ParseMediaType(header.Header.Get("Content-Type"))
	if err != nil || bad != nil || len(data) > 16e6 {
		refuse(w, Failure{HTTP: 400, Code: 131053, Details: "size or type"})
		return
	}
	s.Lock()
	defer s.Unlock()
	answer(w, map[string]any{"id": s.keepFile(file{data: data, mime: kind})})
}

// keepFile stores a file and returns its id. The caller holds the lock.
func (s *Server) keepFile(f file) string {
	s.ids++
	id := fmt.Sprint(9000 + s.ids)
	s.files[id] = f
	return id
}

// Uploaded returns the content and media type of the file with an id.
func (s *Server) Uploaded(id string) ([]byte, string) {
	s.Lock()
	defer s.Unlock()
	return s.files[id].data, s.files[id].mime
}

func (s *Server) lookup(w http.ResponseWriter, id string) {
	s.Lock()
	defer s.Unlock()
	f, ok := s.files[id]
	if !ok {
		refuse(w, Failure{HTTP: 400, Code: 100})
		return
	}
	sum := sha256.Sum256(f.data)
	answer(w, map[string]any{
		"id": id, "messaging_product": "whatsapp", "url": s.Server.URL() + "/file/" + id, "mime_type": f.mime,
		"sha256": hex.EncodeToString(sum[:]), "file_size": len(f.data),
	})
}

func (s *Server) serveFile(w http.ResponseWriter, id string) {
	s.Lock()
	defer s.Unlock()
	f, ok := s.files[id]
	if !ok {
		refuse(w, Failure{HTTP: 404, Code: 100})
		return
	}
	_, _ = w.Write(f.data)
}

func units(s string) int { return len(utf16.Encode([]rune(s))) }
