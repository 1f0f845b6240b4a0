package telegramtest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"
)

// Say lets the person of a direct chat, whose id is the chat's, write text. It returns
// the message id.
func (s *Server) Say(chat int64, text string) int64 {
	return s.Write(chat, map[string]any{"text": text})
}

// Write lets the person of a direct chat send a message with the given fields
// beyond id, date, sender and chat, such as {"photo": …, "caption": …}.
func (s *Server) Write(chat int64, fields map[string]any) int64 {
	s.Lock()
	s.messages++
	id := s.messages
	s.Unlock()
	m := map[string]any{"message_id": id, "date": time.Now().Unix(), "from": personOf(chat), "chat": chatOf(chat)}
	maps.Copy(m, fields)
	s.Offer(map[string]any{"message": m})
	return id
}

// Edit lets the person of a direct chat change the text of a message.
func (s *Server) Edit(chat, message int64, text string) {
	now := time.Now().Unix()
	s.Offer(map[string]any{"edited_message": map[string]any{
		"message_id": message, "date": now, "edit_date": now, "from": personOf(chat), "chat": chatOf(chat), "text": text,
	}})
}

// Press lets the person of a direct chat press a button with data under a
// message, and returns the id of the press.
func (s *Server) Press(chat, message int64, data string) string {
	id := fmt.Sprintf("press-%d-%d", chat, time.Now().UnixNano())
	s.Offer(map[string]any{"callback_query": map[string]any{
		"id": id, "from": personOf(chat), "chat_instance": "1", "data": data,
		"message": map[string]any{"message_id": message, "chat": chatOf(chat), "date": time.Now().Unix(), "text": "x"},
	}})
	return id
}

// Offer adds an id to an update, offers it, and returns the id.
func (s *Server) Offer(u map[string]any) int64 {
	s.Lock()
	defer s.Unlock()
	return s.enqueue(func(id int64) json.RawMessage {
		withID := maps.Clone(u)
		withID["update_id"] = id
		raw, err := json.Marshal(withID)
		if err != nil {
			raw = []byte(fmt.Sprintf(`{"update_id":%d}`, id))
			s.Noted(fmt.Errorf("offer: %w", err))
		}
		return raw
	})
}

// OfferRaw offers the bytes of an update unchanged, and returns the service's id for it.
func (s *Server) OfferRaw(raw string) int64 {
	s.Lock()
	defer s.Unlock()
	return s.enqueue(func(int64) json.RawMessage { return json.RawMessage(raw) })
}

// Again offers an earlier update again, as the service does when it is not sure that
// the update arrived.
func (s *Server) Again(id int64) {
	s.Lock()
	defer s.Unlock()
	raw := s.history[id]
	s.enqueue(func(int64) json.RawMessage { return raw })
}

// enqueue adds an update. The caller holds the lock.
func (s *Server) enqueue(make func(id int64) json.RawMessage) int64 {
	id := s.nextID
	s.nextID++
	raw := make(id)
	s.history[id] = raw
	s.queue = append(s.queue, update{id: id, raw: raw})
	s.Signal()
	return id
}

func personOf(chat int64) map[string]any {
	return map[string]any{"id": chat, "is_bot": false, "first_name": "User" + strconv.FormatInt(chat, 10),
		"language_code": "en"}
}

func chatOf(chat int64) map[string]any {
	if chat < 0 {
		return map[string]any{"id": chat, "type": "group", "title": "Group"}
	}
	return map[string]any{"id": chat, "type": "private", "first_name": "User" + strconv.FormatInt(chat, 10)}
}

// Administers makes a person an administrator of a group.
func (s *Server) Administers(chat, person int64) {
	s.Lock()
	defer s.Unlock()
	s.members[[2]int64{chat, person}] = "administrator"
}

// Leaves makes a person leave a group.
func (s *Server) Leaves(chat, person int64) {
	s.Lock()
	defer s.Unlock()
	s.members[[2]int64{chat, person}] = "left"
}

// LastUpdate returns the id of the last offered update.
func (s *Server) LastUpdate() int64 {
	s.Lock()
	defer s.Unlock()
	return s.nextID - 1
}

// Pending returns the number of unconfirmed updates.
func (s *Server) Pending() int {
	s.Lock()
	defer s.Unlock()
	return len(s.queue)
}

// AddFile makes data available under a file id.
func (s *Server) AddFile(id, path string, data []byte) {
	s.Lock()
	defer s.Unlock()
	s.files[id] = file{path: path, data: data}
}

// Sent returns the bot's messages to chat, in order.
func (s *Server) Sent(chat int64) []Message {
	s.Lock()
	defer s.Unlock()
	return s.sentTo(chat)
}

func (s *Server) sentTo(chat int64) []Message {
	var out []Message
	for _, m := range s.sent {
		if m.Chat == chat {
			out = append(out, m)
		}
	}
	return out
}

// WaitSent waits until the bot has sent n messages to chat, and returns all.
func (s *Server) WaitSent(ctx context.Context, chat int64, n int) ([]Message, error) {
	var sent []Message
	err := s.Wait(ctx, func() bool {
		sent = s.Sent(chat)
		return len(sent) >= n
	})
	if err != nil {
		return sent, fmt.Errorf("%d of %d messages in chat %d: %w", len(sent), n, chat, err)
	}
	return sent, nil
}

// Drafts returns the previews shown in chat, in order.
func (s *Server) Drafts(chat int64) []Draft {
	s.Lock()
	defer s.Unlock()
	var out []Draft
	for _, d := range s.drafts {
		if d.Chat == chat {
			out = append(out, d)
		}
	}
	return out
}

// Actions returns the number of times that a chat action was shown in chat.
func (s *Server) Actions(chat int64) int {
	s.Lock()
	defer s.Unlock()
	n := 0
	for at, shown := range s.actions {
		if at[0] == chat {
			n += shown
		}
	}
	return n
}

// ActionsIn returns how often typing was shown in a topic of a chat.
func (s *Server) ActionsIn(chat, topic int64) int {
	s.Lock()
	defer s.Unlock()
	return s.actions[[2]int64{chat, topic}]
}

// Answered returns the ids of the answered presses.
func (s *Server) Answered() []string {
	s.Lock()
	defer s.Unlock()
	return slices.Clone(s.answered)
}

// Menu returns the names of the commands for a language in a scope; "" is the default of either.
func (s *Server) Menu(language, scope string) []string {
	s.Lock()
	defer s.Unlock()
	return s.menus[language+scope]
}

// Webhook returns the URL of the webhook, or "".
func (s *Server) Webhook() string {
	s.Lock()
	defer s.Unlock()
	return s.webhook.url
}
