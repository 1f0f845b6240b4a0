package signaltest

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf16"
)

// styleNames are the styles of the service.
var styleNames = []string{"BOLD", "ITALIC", "SPOILER", "STRIKETHROUGH", "MONOSPACE"}

// send carries out a message. The caller holds the lock.
func (s *Server) send(c *call) (any, *Failure) {
	p := &c.Params
	to := c.recipients()
	if len(to) != 1 || p.Message == "" && len(p.Attachment) == 0 {
		s.Noted(fmt.Errorf("a message of %d bytes to %v", len(p.Message), to))
		return nil, &Failure{Code: -1, Message: "No recipients given"}
	}
	for _, style := range p.TextStyle {
		if err := checkStyle(p.Message, style); err != nil {
			s.Noted(err)
			return nil, &Failure{Code: -1, Message: err.Error()}
		}
	}
	m := Message{Timestamp: s.tick(), Text: p.Message, Styles: p.TextStyle, Quote: p.QuoteTimestamp,
		QuoteText: p.QuoteMessage, Voice: p.VoiceNote, Quiet: p.NoUrgent}
	if len(p.Attachment) > 0 {
		m.Attachment = p.Attachment[0]
		if _, _, _, err := parseFile(m.Attachment); err != nil {
			s.Noted(err)
		}
	}
	if m.Quote != 0 && p.QuoteAuthor == "" {
		s.Noted(fmt.Errorf("the quote of %d has no author", m.Quote))
	}
	s.sent[to[0]] = append(s.sent[to[0]], m)
	return map[string]any{"timestamp": m.Timestamp, "results": []any{map[string]any{
		"recipientAddress": map[string]any{"uuid": to[0]}, "type": "SUCCESS"}}}, nil
}

// remoteDelete deletes a message. One that there is not is no error. The caller holds the lock.
func (s *Server) remoteDelete(c *call) (any, *Failure) {
	to, at := c.recipients(), c.targets()
	if len(to) != 1 || len(at) != 1 {
		s.Noted(fmt.Errorf("the deletion of %v to %v", at, to))
		return nil, &Failure{Code: -1, Message: "No recipients given"}
	}
	for i := range s.sent[to[0]] {
		if m := &s.sent[to[0]][i]; m.Timestamp == at[0] {
			m.Deleted = true
		}
	}
	return map[string]any{"timestamp": s.tick(), "results": []any{map[string]any{
		"recipientAddress": map[string]any{"uuid": to[0]}, "type": "SUCCESS"}}}, nil
}

// checkStyle checks that a style is known and within the text.
func checkStyle(text, style string) error {
	var start, length int
	var name string
	if n, err := fmt.Sscanf(style, "%d:%d:%s", &start, &length, &name); n != 3 || err != nil {
		return fmt.Errorf("invalid style %q", style)
	}
	if units := len(utf16.Encode([]rune(text))); start < 0 || length <= 0 || start+length > units ||
		!slices.Contains(styleNames, name) {
		return fmt.Errorf("style %q of a text of %d units", style, units)
	}
	return nil
}

// File returns the file that a message was sent with; no data: there is none.
func (m Message) File() (name, mime string, data []byte) {
	name, mime, data, err := parseFile(m.Attachment)
	if err != nil {
		return "", "", nil
	}
	return name, mime, data
}

// parseFile reads a data URI.
func parseFile(uri string) (name, mime string, data []byte, err error) {
	head, text, ok := strings.Cut(strings.TrimPrefix(uri, "data:"), ";base64,")
	mime, name, named := strings.Cut(head, ";filename=")
	data, err = base64.StdEncoding.DecodeString(text)
	if err == nil {
		name, err = url.QueryUnescape(name)
	}
	if err == nil && (!ok || !named || len(data) == 0 || !strings.HasPrefix(uri, "data:") || strings.Count(mime, "/") != 1) {
		err = errors.New("it has no type, name or content")
	}
	if err != nil {
		err = fmt.Errorf("invalid data URI %.80q: %w", uri, err)
	}
	return name, mime, data, err
}

// carryOut carries out a call, and returns its result or why it is refused.
func (s *Server) carryOut(c *call) (any, *Failure) {
	s.Lock()
	defer s.Unlock()
	defer s.Signal()
	switch c.Method {
	case "send":
		return s.send(c)
	case "remoteDelete":
		return s.remoteDelete(c)
	case "sendTyping":
		s.typed = append(s.typed, c.recipients()...)
		return map[string]any{}, nil
	case "sendReceipt":
		for _, person := range c.recipients() {
			s.unread[person] = slices.DeleteFunc(s.unread[person], func(at int64) bool {
				return slices.Contains(c.targets(), at)
			})
		}
		return map[string]any{}, nil
	case "getAttachment", "getSticker":
		id := c.Params.ID
		if c.Method == "getSticker" {
			id = fmt.Sprintf("%s:%d", c.Params.PackID, c.Params.StickerID)
		}
		data, ok := s.files[id]
		if !ok {
			return nil, &Failure{Code: -1, Message: "Could not find attachment with ID: " + id}
		}
		return map[string]any{"data": base64.StdEncoding.EncodeToString(data)}, nil
	case "listContacts":
		var found []any
		for _, person := range c.recipients() {
			found = append(found, map[string]any{"uuid": person, "username": s.names[person]})
		}
		return found, nil
	case "startLink":
		s.codes++
		s.code, s.finishing, s.scanned = fmt.Sprintf("sgnl://linkdevice?uuid=%d&pub_key=abc", s.codes), false, ""
		return map[string]any{"deviceLinkUri": s.code}, nil
	case "listAccounts":
		if s.unlinked {
			return []any{}, nil
		}
		return []any{map[string]any{"number": Account}}, nil
	case "listGroups":
		return s.groups(c), nil
	case "version":
		return map[string]any{"version": s.version}, nil
	case "listDevices":
		return []any{map[string]any{"id": 1}}, nil
	}
	return nil, nil
}
