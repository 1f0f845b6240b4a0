//go:build e2e && goolm

package channels

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"testing"

	"github.com/everthread/everthread/adapters/signal/signaltest"
	"github.com/everthread/everthread/e2e/e2etest"
)

// door is a channel as a family of three uses it: each member has a chat of their own with the assistant, and all share a
// group. Chats are counted from 0; everybody is the group.
type door interface {
	// says writes a text to a chat, in answer to a message unless that is empty, and returns the id of its message.
	says(chat, who int, text, to string) string
	sendsFile(chat, who int, name, text string)
	heard(chat int) []heard
	renames(who int, name string)
	administers(who int)
	// calls returns a text that addresses the assistant in the group.
	calls(text string) string
}

const everybody = 3

// heard is what the assistant said in a chat.
type heard struct{ text, replyTo string }

var familyNames = [3]string{"Ada", "Bo", "Cy"}

// telegramDoor is a topic of a forum beside private chats.
type telegramDoor struct {
	*e2etest.Gathering
	t       *testing.T
	members [3]e2etest.Member
	writers map[string]int // members by the ids of their messages
}

func onTelegram(t *testing.T, w *e2etest.Week) door {
	g := w.Gathers(-1007, "Family")
	g.Topic = 7
	return &telegramDoor{g, t, [3]e2etest.Member{ada, bo, cy}, map[string]int{}}
}

func (d *telegramDoor) says(chat, who int, text, to string) string {
	at, _ := strconv.ParseInt(to, 10, 64)
	if chat == everybody {
		var said int64
		if at != 0 {
			said = d.Replies(d.members[who], text, at, d.members[d.writers[to]].ID)
		} else {
			said = d.Says(d.members[who], text)
		}
		id := fmt.Sprint(said)
		d.writers[id] = who
		return id
	}
	fields := map[string]any{"text": text}
	if at != 0 {
		fields["reply_to_message"] = map[string]any{"message_id": at, "date": 1, "text": "earlier",
			"chat": map[string]any{"id": d.members[who].ID, "type": "private"},
			"from": map[string]any{"id": d.members[who].ID, "is_bot": false, "first_name": d.members[who].Name}}
	}
	return fmt.Sprint(d.Telegram.Write(d.members[who].ID, fields))
}

func (d *telegramDoor) sendsFile(chat, who int, name, text string) {
	d.Telegram.AddFile(name, "documents/"+name, []byte(text))
	f := map[string]any{"file_id": name, "file_unique_id": name, "file_name": name, "mime_type": "text/plain", "file_size": len(text)}
	if chat == everybody {
		d.Offers(d.members[who], "", map[string]any{"document": f})
		return
	}
	d.Telegram.Write(d.members[who].ID, map[string]any{"document": f})
}

func (d *telegramDoor) heard(chat int) (out []heard) {
	id := d.Chat
	if chat != everybody {
		id = d.members[chat].ID
	}
	for _, m := range d.Telegram.Sent(id) {
		if chat == everybody && m.Topic != d.Topic {
			d.t.Errorf("%q is said in the topic %d", m.Text, m.Topic)
		}
		h := heard{text: m.Text}
		if m.ReplyTo != 0 {
			h.replyTo = fmt.Sprint(m.ReplyTo)
		}
		out = append(out, h)
	}
	return out
}

func (d *telegramDoor) renames(who int, name string) { d.members[who].Name = name }

func (d *telegramDoor) administers(who int) { d.Telegram.Administers(d.Chat, d.members[who].ID) }

func (d *telegramDoor) calls(text string) string { return "@test_bot " + text }

// signalDoor is a group of Signal beside each member's own conversation.
type signalDoor struct {
	*signaltest.Server
	members [3]string
	writers map[string]int // members by the times of their messages in the group
}

const familyOnSignal = "Pmpi+EfPWmsxiomLe9Nx2XF9HOE483p6iKiFj65iMwI="

func onSignal(_ *testing.T, w *e2etest.Week) door {
	d := &signalDoor{w.OnSignal(), [3]string{e2etest.Grace, "4c0c1c00-1111-4222-8333-444455556666",
		"5d0d1c00-1111-4222-8333-444455556666"}, map[string]int{}}
	for who, name := range familyNames {
		d.Name(d.members[who], name)
	}
	return d
}

func (d *signalDoor) says(chat, who int, text, to string) string {
	more := map[string]any{"message": text}
	if at, _ := strconv.ParseInt(to, 10, 64); at != 0 {
		author := who
		if chat == everybody {
			author = d.writers[to]
		}
		more["quote"] = map[string]any{"id": at, "authorUuid": d.members[author], "text": "earlier"}
	}
	if chat != everybody {
		return fmt.Sprint(d.Write(d.members[who], more))
	}
	delete(more, "message")
	id := fmt.Sprint(d.Gather(familyOnSignal, d.members[who], text, more))
	d.writers[id] = who
	return id
}

func (d *signalDoor) sendsFile(chat, who int, name, text string) {
	more := map[string]any{"message": "", "attachments": []any{d.Attach([]byte(text), "text/plain", name)}}
	if chat == everybody {
		d.Gather(familyOnSignal, d.members[who], "", more)
		return
	}
	d.Write(d.members[who], more)
}

func (d *signalDoor) heard(chat int) (out []heard) {
	to := familyOnSignal
	if chat != everybody {
		to = d.members[chat]
	}
	for _, m := range d.Sent(to) {
		h := heard{text: m.Text}
		if m.Quote != 0 {
			h.replyTo = fmt.Sprint(m.Quote)
		}
		out = append(out, h)
	}
	return out
}

func (d *signalDoor) renames(who int, name string) { d.Name(d.members[who], name) }

func (d *signalDoor) administers(who int) { d.Administers(familyOnSignal, d.members[who]) }

func (d *signalDoor) calls(text string) string { return "@ " + text }

// matrixDoor is an encrypted room beside encrypted direct rooms.
type matrixDoor struct {
	h       *e2etest.Homeserver
	mu      [everybody]sync.Mutex // of the members' devices
	bot     string
	members [3]*e2etest.OlmDevice
	rooms   [4]string
}

func onMatrix(t *testing.T, w *e2etest.Week) door {
	h := e2etest.NewHomeserver(t, false)
	d := &matrixDoor{h: h, bot: w.OnMatrix(h).ID}
	var ids []string
	for who, name := range familyNames {
		a := h.Register(map[string]string{"Ada": "ada", "Bo": "bo", "Cy": "cy"}[name])
		d.members[who] = a.Olm()
		d.renames(who, name)
		ids = append(ids, a.ID)
	}
	for who, m := range d.members {
		d.rooms[who] = m.Secret(d.bot)
	}
	room := d.members[0].Party("Family", true, d.bot, d.members[1].Account, d.members[2].Account)
	for _, m := range d.members {
		m.Enter(room, append(ids, d.bot)...)
	}
	d.rooms[everybody] = room
	return d
}

// comes waits until the assistant is in all rooms.
func (d *matrixDoor) comes(g *e2etest.Gateway) {
	for chat, room := range d.rooms {
		d.members[chat%everybody].Joined(g, room, d.bot)
	}
}

func (d *matrixDoor) says(chat, who int, text, to string) string {
	d.mu[who].Lock()
	defer d.mu[who].Unlock()
	content := map[string]any{"msgtype": "m.text", "body": text}
	if to != "" {
		content["m.relates_to"] = map[string]any{"m.in_reply_to": map[string]string{"event_id": to}}
	}
	return d.members[who].Write(d.rooms[chat], content)
}

func (d *matrixDoor) sendsFile(chat, who int, name, text string) {
	d.mu[who].Lock()
	defer d.mu[who].Unlock()
	m := d.members[who]
	m.Write(d.rooms[chat], map[string]any{"msgtype": "m.file", "body": name, "filename": name, "file": m.Enclose([]byte(text)),
		"info": map[string]any{"size": len(text), "mimetype": "text/plain"}})
}

func (d *matrixDoor) heard(chat int) (out []heard) {
	d.mu[chat%everybody].Lock()
	defer d.mu[chat%everybody].Unlock()
	for _, e := range d.members[chat%everybody].Latest(d.rooms[chat], d.bot) {
		h := heard{text: e.Body()}
		relation, _ := e.Content["m.relates_to"].(map[string]any)
		to, _ := relation["m.in_reply_to"].(map[string]any)
		h.replyTo, _ = to["event_id"].(string)
		out = append(out, h)
	}
	return out
}

func (d *matrixDoor) renames(who int, name string) {
	m := d.members[who]
	d.h.Call(http.MethodPut, "/_matrix/client/v3/profile/"+url.PathEscape(m.ID)+"/displayname", m.Token,
		map[string]string{"displayname": name}, nil)
}

func (d *matrixDoor) administers(who int) {
	path := "/_matrix/client/v3/rooms/" + url.PathEscape(d.rooms[everybody]) + "/state/m.room.power_levels/"
	var levels map[string]any
	d.h.Call(http.MethodGet, path, d.members[0].Token, nil, &levels)
	levels["users"].(map[string]any)[d.members[who].ID] = 50
	d.h.Call(http.MethodPut, path, d.members[0].Token, levels, nil)
}

func (d *matrixDoor) calls(text string) string { return "assistant: " + text }
