package history

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
)

type telegramChat struct {
	id, name, kind string
	me             string           // from_id of the user, if the export says
	texts          map[int64]string // of the newest messages, for replies
	order          []int64          // of the keys of texts
}

// telegramMessage is a message of the export of Telegram Desktop.
type telegramMessage struct {
	ID        int64           `json:"id"`
	Type      string          `json:"type"`
	Date      string          `json:"date"`
	Unix      moment          `json:"date_unixtime"`
	From      string          `json:"from"`
	FromID    telegramID      `json:"from_id"`
	Forwarded json.RawMessage `json:"forwarded_from"`
	Reply     int64           `json:"reply_to_message_id"`
	Text      json.RawMessage `json:"text"`
	Entities  json.RawMessage `json:"text_entities"`

	Photo    string                                 `json:"photo"`
	File     string                                 `json:"file"`
	FileName string                                 `json:"file_name"`
	Media    string                                 `json:"media_type"`
	MIME     string                                 `json:"mime_type"`
	Seconds  float64                                `json:"duration_seconds"`
	Emoji    string                                 `json:"sticker_emoji"`
	Location *struct{ Latitude, Longitude float64 } `json:"location_information"`
	Contact  *struct {
		First string `json:"first_name"`
		Last  string `json:"last_name"`
	} `json:"contact_information"`
	Poll *struct {
		Question string `json:"question"`
	} `json:"poll"`
}

// telegramID identifies a sender, also of a deleted account, such as user42.
type telegramID string

// UnmarshalJSON reads an id. Exports of before 2021 have the number only.
func (t *telegramID) UnmarshalJSON(b []byte) error {
	var text string
	if json.Unmarshal(b, &text) == nil {
		*t = telegramID(text)
		return nil
	}
	if n, err := strconv.ParseUint(string(b), 10, 64); err == nil {
		*t = telegramID("user" + strconv.FormatUint(n, 10))
	}
	return nil
}

const deletedAccount = "Deleted account"

// readTelegram reads result.json of Telegram Desktop, of one chat or of all.
func readTelegram(a *Archive, names []string, o Options, out output) error {
	return each(names, func(name string) error {
		return a.document(name, out, func(d *document) error { return (&telegram{document: d, zone: o.Zone}).read() })
	})
}

type telegram struct {
	*document
	zone *time.Location
	me   string
}

// read reads the top of the file: a chat, or the lists of chats.
func (t *telegram) read() error {
	c := &telegramChat{texts: map[int64]string{}}
	return t.object(func(key string) error {
		switch key {
		case "personal_information":
			var p struct {
				ID int64 `json:"user_id"`
			}
			_, err := t.value(&p)
			if p.ID != 0 {
				t.me = "user" + strconv.FormatInt(p.ID, 10)
			}
			return err
		case "chats", "left_chats":
			return t.object(func(key string) error {
				if key != "list" {
					return t.skip()
				}
				return t.array(t.chat)
			})
		}
		return t.chatField(c, key)
	})
}

func (t *telegram) chat() error {
	c := &telegramChat{texts: map[int64]string{}}
	return t.object(func(key string) error { return t.chatField(c, key) })
}

func (t *telegram) chatField(c *telegramChat, key string) error {
	var err error
	switch key {
	case "name":
		_, err = t.value(&c.name)
	case "type":
		_, err = t.value(&c.kind)
	case "id":
		var id json.Number
		_, err = t.value(&id)
		c.id = id.String()
	case "messages":
		c.me = t.me
		return t.array(func() error { return t.message(c) })
	default:
		return t.skip()
	}
	return err
}

func (t *telegram) message(c *telegramChat) error {
	var m telegramMessage
	ok, err := t.value(&m)
	if err != nil || !ok || m.Type != "message" {
		return err
	}
	l := Line{Chat: c.id, Title: c.name, ID: strconv.FormatInt(m.ID, 10), At: m.Unix.Time, From: m.From,
		Role: c.role(string(m.FromID)), Told: c.me != ""}
	if l.At.IsZero() {
		l.At, _ = time.ParseInLocation("2006-01-02T15:04:05", m.Date, t.zone)
	}
	id := strings.TrimLeft(string(m.FromID), "abcdefghijklmnopqrstuvwxyz") // a group may have several deleted accounts
	l.From = cmp.Or(l.From, strings.TrimSpace(deletedAccount+" "+id))
	l.ForwardedFrom = forwardedFrom(m.Forwarded)
	l.Quote = c.texts[m.Reply]
	l.Text = m.attach(&l, path.Dir(t.name), cmp.Or(telegramText(m.Entities), telegramText(m.Text)))
	c.remember(m.ID, l.Text)
	return t.out.line(l)
}

// forwardedFrom returns the original author of a forwarded message, empty if it is none.
func forwardedFrom(raw json.RawMessage) string {
	var name string
	switch {
	case len(raw) == 0:
		return ""
	case json.Unmarshal(raw, &name) != nil || name == "":
		return deletedAccount
	}
	return name
}

// role returns the role of a sender in a chat of two, empty in others.
func (c *telegramChat) role(from string) core.Role {
	switch {
	case c.kind == "saved_messages":
		return core.RoleUser
	case c.kind == "personal_chat" || c.kind == "bot_chat":
		if from == "user"+c.id || c.me != "" && from != c.me && from != "" {
			return core.RoleAssistant
		}
		return core.RoleUser
	case c.me != "" && from == c.me:
		return core.RoleUser
	}
	return ""
}

// telegramTexts is the number of texts kept for replies.
const telegramTexts = 5000

func (c *telegramChat) remember(id int64, text string) {
	if len(c.order) == telegramTexts {
		delete(c.texts, c.order[0])
		c.order = c.order[1:]
	}
	c.texts[id] = clip(text)
	c.order = append(c.order, id)
}

// attach adds the file of a message to l, and returns the text with placeholders.
func (m telegramMessage) attach(l *Line, folder, text string) string {
	f := File{Name: m.FileName, MIME: m.MIME, Duration: time.Duration(m.Seconds * float64(time.Second))}
	file := m.File
	switch {
	case m.Photo != "":
		f.Kind, file = "photo", m.Photo
	case m.Media == "voice_message":
		f.Kind = "voice"
	case m.Media == "audio_file":
		f.Kind = "audio"
	case m.Media == "video_message" || m.Media == "video_file" || m.Media == "animation":
		f.Kind = "video"
	case m.Media == "sticker":
		f.Kind = "sticker"
	case m.File != "":
		f.Kind = "document"
	default:
		return m.other(text)
	}
	if file != "" && !strings.HasPrefix(file, "(") {
		f.Entry, f.Name = path.Join(folder, file), cmp.Or(f.Name, path.Base(file))
	}
	l.Files = []File{f}
	return placeholder(f, m.Emoji, text)
}

// other returns the text of a message with its location, contact or poll.
func (m telegramMessage) other(text string) string {
	switch {
	case m.Location != nil:
		text += fmt.Sprintf("\n[location %g, %g]", m.Location.Latitude, m.Location.Longitude)
	case m.Contact != nil:
		text += "\n[contact: " + strings.TrimSpace(m.Contact.First+" "+m.Contact.Last) + "]"
	case m.Poll != nil:
		text += "\n[poll: " + m.Poll.Question + "]"
	}
	return strings.TrimSpace(text)
}

// placeholder returns the text for a file in its message.
func placeholder(f File, what, caption string) string {
	switch {
	case what != "":
	case f.Duration > 0 && (f.Kind == "voice" || f.Kind == "audio" || f.Kind == "video"):
		s := int(f.Duration.Seconds())
		what = fmt.Sprintf("%d:%02d", s/60, s%60)
	case f.Kind == "document":
		what = f.Name
	}
	out := "[" + strings.TrimSpace(f.Kind+" "+what)
	if caption != "" {
		out += ": " + caption
	}
	return out + "]"
}

// telegramText returns a text as Markdown. In the export it is a string, or a list of
// strings and of pieces with a type.
func telegramText(raw json.RawMessage) string {
	var plain string
	if json.Unmarshal(raw, &plain) == nil {
		return plain
	}
	var pieces []json.RawMessage
	if json.Unmarshal(raw, &pieces) != nil {
		return ""
	}
	var b strings.Builder
	for _, raw := range pieces {
		var e struct{ Type, Text, Href, Language string }
		if json.Unmarshal(raw, &plain) == nil {
			b.WriteString(plain)
		} else if json.Unmarshal(raw, &e) == nil {
			b.WriteString(telegramMarked(e.Type, e.Text, e.Href, e.Language))
		}
	}
	return b.String()
}

func telegramMarked(kind, text, href, language string) string {
	around := map[string]string{"bold": "**", "italic": "_", "strikethrough": "~~", "code": "`"}[kind]
	switch {
	case around != "" && strings.TrimSpace(text) == text && text != "":
		return around + text + around
	case kind == "pre":
		return "```" + language + "\n" + strings.TrimSuffix(text, "\n") + "\n```"
	case kind == "text_link" && href != "":
		return "[" + text + "](" + href + ")"
	case kind == "blockquote":
		return "> " + strings.ReplaceAll(text, "\n", "\n> ")
	}
	return text
}
