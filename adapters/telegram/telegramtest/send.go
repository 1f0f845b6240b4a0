package telegramtest

import (
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf16"
)

const (
	maxText    = 4096 // UTF-16 units
	maxCaption = 1024
)

func (s *Server) sendMessage(p params) (any, *refusal) {
	m := Message{Text: p.string("text"), Markup: p.string("reply_markup")}
	p.decode("entities", &m.Entities)
	if f := checkText(m.Text, m.Entities); f != nil {
		return nil, f
	}
	return s.send(m, p)
}

// sendFile delivers a message with the request's file in the field kind.
func (s *Server) sendFile(kind string, p params) (any, *refusal) {
	file, ok := p.files[kind]
	m := Message{Text: p.string("caption"), File: &file}
	p.decode("caption_entities", &m.Entities)
	switch {
	case !ok || len(file.Data) == 0:
		return nil, &refusal{code: 400, description: "Bad Request: file must be non-empty"}
	case len(file.Data) > 50<<20, kind == "photo" && len(file.Data) > 10<<20:
		return nil, &refusal{code: 413, description: "Request Entity Too Large"}
	case units(m.Text) > maxCaption:
		return nil, &refusal{code: 400, description: "Bad Request: message caption is too long"}
	case kind == "photo" && !strings.HasPrefix(http.DetectContentType(file.Data), "image/"):
		return nil, &refusal{code: 400, description: "Bad Request: IMAGE_PROCESS_FAILED"}
	}
	if f := checkEntities(m.Text, m.Entities); f != nil {
		return nil, f
	}
	return s.send(m, p)
}

// send delivers m, whose text has been checked.
func (s *Server) send(m Message, p params) (any, *refusal) {
	m.Chat, m.Quiet = p.int("chat_id"), p.string("disable_notification") == "true"
	if m.Chat == 0 {
		return nil, &refusal{code: 400, description: "Bad Request: chat not found"}
	}
	var reply struct {
		ID    int64 `json:"message_id"`
		Allow bool  `json:"allow_sending_without_reply"`
	}
	p.decode("reply_parameters", &reply)
	s.Lock()
	defer s.Unlock()
	if reply.ID > s.messages && !reply.Allow {
		return nil, &refusal{code: 400, description: "Bad Request: message to be replied not found"}
	}
	m.ReplyTo, m.Topic = reply.ID, p.int("message_thread_id")
	s.messages++
	m.ID = s.messages
	s.sent = append(s.sent, m)
	s.Signal()
	return rendered(m), nil
}

func rendered(m Message) any {
	out := map[string]any{
		"message_id": m.ID, "date": time.Now().Unix(),
		"chat": chatOf(m.Chat), "from": map[string]any{"id": 123456, "is_bot": true, "first_name": "Test"},
	}
	if m.File == nil {
		out["text"] = m.Text
		return out
	}
	out["caption"] = m.Text
	var file any = map[string]any{"file_id": m.File.Name, "file_unique_id": m.File.Name, "duration": 0}
	if m.File.Kind == "photo" {
		file = []any{file}
	}
	out[m.File.Kind] = file
	return out
}

func (s *Server) editMessage(p params) (any, *refusal) {
	text := p.string("text")
	var entities []Entity
	p.decode("entities", &entities)
	if f := checkText(text, entities); f != nil {
		return nil, f
	}
	s.Lock()
	defer s.Unlock()
	i := slices.IndexFunc(s.sent, func(m Message) bool {
		return m.Chat == p.int("chat_id") &&
			m.ID == p.int("message_id")
	})
	if i < 0 {
		return nil, &refusal{code: 400, description: "Bad Request: message to edit not found"}
	}
	m := &s.sent[i]
	if m.Text == text && slices.Equal(m.Entities, entities) {
		return nil,
			&refusal{code: 400,
				description: "Bad Request: message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message"}
	}
	m.Text, m.Entities, m.Edited = text, entities, true
	s.Signal()
	return rendered(*m), nil
}

func (s *Server) deleteMessage(p params) (any, *refusal) {
	s.Lock()
	defer s.Unlock()
	i := slices.IndexFunc(s.sent, func(m Message) bool {
		return m.Chat == p.int("chat_id") && m.ID == p.int("message_id") && !m.Deleted
	})
	if i < 0 {
		return nil, &refusal{code: 400, description: "Bad Request: message to delete not found"}
	}
	s.sent[i].Deleted = true
	s.Signal()
	return true, nil
}

func (s *Server) sendDraft(p params) (any, *refusal) {
	d := Draft{Chat: p.int("chat_id"), Topic: p.int("message_thread_id"), ID: p.int("draft_id"), Text: p.string("text"),
		CanStop: p.string("can_stop") == "true"}
	switch {
	case d.Chat <= 0:
		return nil, &refusal{code: 400, description: "Bad Request: chat not found"}
	case d.ID == 0:
		return nil, &refusal{code: 400, description: "Bad Request: DRAFT_ID_INVALID"}
	case units(d.Text) > maxText:
		return nil, &refusal{code: 400, description: "Bad Request: message is too long"}
	}
	s.Lock()
	defer s.Unlock()
	s.drafts = append(s.drafts, d)
	s.Signal()
	return true, nil
}

func (s *Server) getFile(p params) (any, *refusal) {
	s.Lock()
	defer s.Unlock()
	id := p.string("file_id")
	f, ok := s.files[id]
	switch {
	case !ok:
		return nil, &refusal{code: 400, description: "Bad Request: invalid file_id"}
	case len(f.data) > 20<<20:
		return nil, &refusal{code: 400, description: "Bad Request: file is too big"}
	}
	return map[string]any{"file_id": id, "file_unique_id": id, "file_size": len(f.data), "file_path": f.path}, nil
}

func (s *Server) serveFile(w http.ResponseWriter, r *http.Request) {
	_, path, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/file/bot"), "/")
	if f, failing := s.Begin("file"); failing && !s.fail(w, r, f) {
		return
	}
	s.Lock()
	defer s.Unlock()
	for _, f := range s.files {
		if f.path == path {
			_, _ = w.Write(f.data)
			return
		}
	}
	http.NotFound(w, r)
}

func units(s string) int { return len(utf16.Encode([]rune(s))) }

// checkText returns the service's refusal of an empty or long text, and of entities that
// are out of bounds, overlapping, or wrongly nested.
func checkText(text string, entities []Entity) *refusal {
	size := units(text)
	switch {
	case strings.TrimSpace(text) == "":
		return &refusal{code: 400, description: "Bad Request: message text is empty"}
	case size > maxText:
		return &refusal{code: 400, description: "Bad Request: message is too long"}
	}
	return checkEntities(text, entities)
}

func checkEntities(text string, entities []Entity) *refusal {
	if len(entities) > 100 {
		return &refusal{code: 400, description: "Bad Request: ENTITIES_TOO_LONG"}
	}
	wide := utf16.Encode([]rune(text))
	for i, e := range entities {
		if what := wrong(e, wide); what != "" {
			return unparsable(what)
		}
		for _, o := range entities[:i] {
			if what := clash(o, e); what != "" {
				return unparsable(what)
			}
		}
	}
	return nil
}

func unparsable(what string) *refusal {
	return &refusal{code: 400, description: "Bad Request: can't parse entities: " + what}
}

func wrong(e Entity, text []uint16) string {
	end := e.Offset + e.Length
	switch {
	case e.Offset < 0 || e.Length <= 0 || end > len(text):
		return "entity out of the text"
	case low(text, e.Offset) || low(text, end):
		return "entity border within a character"
	case e.Type == "text_link" && e.URL == "":
		return "link without URL"
	}
	return ""
}

// low reports whether text[i] is the second half of a surrogate pair.
func low(text []uint16, i int) bool {
	return i < len(text) && text[i] >= 0xDC00 && text[i] < 0xE000
}

// clash returns the reason why inner may not follow outer in the list of entities.
func clash(outer, inner Entity) string {
	end := outer.Offset + outer.Length
	switch {
	case inner.Offset >= end || inner.Offset+inner.Length <= outer.Offset:
		return ""
	case inner.Offset < outer.Offset || inner.Offset+inner.Length > end:
		return "entities overlap"
	}
	quote := func(e Entity) bool { return strings.HasSuffix(e.Type, "blockquote") }
	code := func(e Entity) bool { return e.Type == "pre" || e.Type == "code" }
	switch {
	case quote(outer) && quote(inner):
		return "nested quotes"
	case code(outer), code(inner) && !quote(outer):
		return "code within another entity"
	case outer.Type == inner.Type:
		return "entity within one of its own type"
	}
	return ""
}
