package whatsapptest

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// retryEvery is the pause before a webhook is called again.
const retryEvery = 10 * time.Millisecond

// Webhook sets the URL to which webhooks are posted; "" is none.
func (s *Server) Webhook(url string) {
	s.Lock()
	defer s.Unlock()
	s.hook = url
	s.Signal()
}

// Sign returns the signature header of a body.
func Sign(body []byte) string {
	mac := hmac.New(sha256.New, []byte(AppSecret))
	mac.Write(body)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

// Say lets a person write text, and returns the wamid.
func (s *Server) Say(p Person, text string) string {
	return s.Write(p, map[string]any{"type": "text", "text": map[string]any{"body": text}})
}

// Write lets a person send a message with the given fields beyond sender, id and
// time, such as {"type": "image", "image": …}, and returns the wamid.
func (s *Server) Write(p Person, fields map[string]any) string {
	s.Lock()
	defer s.Unlock()
	s.ids++
	id := fmt.Sprintf("wamid.IN%04d", s.ids)
	s.received[id] = p
	delete(s.closed, address(p))
	s.last = Body(p, id, time.Now(), fields)
	s.enqueue(s.last)
	return id
}

// Press lets a person press the button of a template.
func (s *Server) Press(p Person, m Message, label string) string {
	return s.Write(p, map[string]any{
		"type": "button", "button": map[string]any{"payload": m.Payload, "text": label},
		"context": map[string]any{"from": DisplayNumber, "id": m.ID},
	})
}

// Tap lets a person tap on the n-th reply button below a message.
func (s *Server) Tap(p Person, m Message, n int) string {
	b := m.Buttons[n]
	return s.Write(p, map[string]any{
		"type": "interactive", "interactive": map[string]any{"type": "button_reply",
			"button_reply": map[string]any{"id": b.ID, "title": b.Title}},
		"context": map[string]any{"from": DisplayNumber, "id": m.ID},
	})
}

// Body returns the body of a webhook with one message.
func Body(p Person, id string, at time.Time, fields map[string]any) []byte {
	m := map[string]any{"id": id, "timestamp": strconv.FormatInt(at.Unix(), 10)}
	c := map[string]any{"profile": map[string]any{"name": p.Name}}
	if p.Phone != "" {
		m["from"], c["wa_id"] = p.Phone, p.Phone
	}
	if p.UserID != "" {
		m["from_user_id"], c["user_id"] = p.UserID, p.UserID
	}
	maps.Copy(m, fields)
	return wrap(map[string]any{"contacts": []any{c}, "messages": []any{m}})
}

// wrap returns an envelope with a value, with the service's escapes.
func wrap(value map[string]any) []byte {
	value["messaging_product"] = "whatsapp"
	value["metadata"] = map[string]any{"display_phone_number": DisplayNumber, "phone_number_id": PhoneNumberID}
	raw, err := json.Marshal(map[string]any{"object": "whatsapp_business_account", "entry": []any{
		map[string]any{"id": Account, "changes": []any{map[string]any{"field": "messages", "value": value}}},
	}})
	if err != nil {
		return []byte("{}")
	}
	return escape(raw)
}

// escape encodes JSON like the service: ASCII only, with escaped slashes.
func escape(raw []byte) []byte {
	var b bytes.Buffer
	for _, r := range string(raw) {
		switch {
		case r == '/':
			b.WriteString(`\/`)
		case r > 0xFFFF:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xD800+r>>10, 0xDC00+r&0x3FF)
		case r > '~':
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.Bytes()
}

// statusBody returns the body of a webhook with one status.
func statusBody(m Message, state string, code int) []byte {
	st := map[string]any{"id": m.ID, "status": state, "timestamp": strconv.FormatInt(time.Now().Unix(), 10)}
	if m.To != "" {
		st["recipient_id"] = strings.TrimPrefix(m.To, "+")
	}
	if m.Recipient != "" {
		st["recipient_user_id"] = m.Recipient
	}
	if m.Callback != "" {
		st["biz_opaque_callback_data"] = m.Callback
	}
	if code != 0 {
		st["errors"] = []any{map[string]any{"code": code, "title": "failed",
			"error_data": map[string]any{"details": "test failure"}}}
	}
	return wrap(map[string]any{"statuses": []any{st}})
}

// Read lets a person read a message.
func (s *Server) Read(m Message) {
	s.Lock()
	defer s.Unlock()
	s.enqueue(statusBody(m, "read", 0))
}

// Offer posts a body unchanged, with a signature.
func (s *Server) Offer(body []byte) {
	s.Lock()
	defer s.Unlock()
	s.enqueue(body)
}

// Again offers the last message of a person again.
func (s *Server) Again() {
	s.Lock()
	defer s.Unlock()
	s.enqueue(s.last)
}

// enqueue adds a body. The caller holds the lock.
func (s *Server) enqueue(body []byte) {
	s.queue = append(s.queue, body)
	s.Signal()
}

// AddFile stores a file that people can send, and returns the object for it in a message,
// without caption and other options.
func (s *Server) AddFile(data []byte, mime string) map[string]any {
	s.Lock()
	defer s.Unlock()
	id := s.keepFile(file{data: data, mime: mime})
	sum := sha256.Sum256(data)
	return map[string]any{"id": id, "mime_type": mime, "sha256": base64.StdEncoding.EncodeToString(sum[:])}
}

// push posts the queued bodies in order, each until it is answered 200.
func (s *Server) push() {
	for s.Ctx.Err() == nil {
		s.Lock()
		hook, changed := s.hook, s.Changed()
		var body []byte
		if len(s.queue) > 0 && hook != "" {
			body = s.queue[0]
		}
		s.Unlock()
		if body != nil && s.posted(hook, body) {
			s.Lock()
			s.queue = s.queue[1:]
			s.Signal()
			s.Unlock()
			continue
		}
		var retry <-chan time.Time
		if body != nil {
			retry = time.After(retryEvery)
			changed = nil
		}
		select {
		case <-s.Ctx.Done():
		case <-changed:
		case <-retry:
		}
	}
}

// posted posts a body once and reports whether it was answered 200.
func (s *Server) posted(hook string, body []byte) bool {
	req, err := http.NewRequestWithContext(s.Ctx, http.MethodPost, hook, bytes.NewReader(body))
	if err != nil {
		return false
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Hub-Signature-256", Sign(body))
	resp, err := s.client.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}
