package importer

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"slices"
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
		Phone string `json:"phone_number"`
	} `json:"contact_information"`
	Place   string `json:"place_name"`
	Address string `json:"address"`
	Poll    *struct {
		Question string `json:"question"`
		Answers  []struct {
			Text   string `json:"text"`
			Voters int    `json:"voters"`
		} `json:"answers"`
	} `json:"poll"`
	List *struct {
		Title   telegramWords `json:"title"`
		Answers []struct {
			Text telegramWords `json:"text"`
		} `json:"answers"`
	} `json:"todo_list"`
	Reactions []struct {
		Type   string `json:"type"`
		Emoji  string `json:"emoji"`
		Count  int    `json:"count"`
		Recent []struct {
			From string `json:"from"`
		} `json:"recent"`
	} `json:"reactions"`
}

// telegramWords is a text, plain or in pieces.
type telegramWords string

// UnmarshalJSON reads either form.
func (t *telegramWords) UnmarshalJSON(b []byte) error {
	*t = telegramWords(telegramText(b))
	return nil
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
		Role: c.role(string(m.FromID)), Told: c.me != "" || c.ofTwo()}
	if l.At.IsZero() {
		l.At, _ = time.ParseInLocation("2006-01-02T15:04:05", m.Date, t.zone)
	}
	id := strings.TrimLeft(string(m.FromID), "abcdefghijklmnopqrstuvwxyz") // a group may have several deleted accounts
	l.From = cmp.Or(l.From, strings.TrimSpace(deletedAccount+" "+id))
	l.ForwardedFrom = forwardedFrom(m.Forwarded)
	l.Quote = c.texts[m.Reply]
	l.Text = m.attach(&l, path.Dir(t.name), cmp.Or(telegramText(m.Entities), telegramText(m.Text)))
	c.remember(m.ID, l.Text)
	if l.Text != "" {
		l.Text += m.reacted()
	}
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

// ofTwo reports whether a chat is between the user and one other, whom its id names.
func (c *telegramChat) ofTwo() bool { return c.kind == "personal_chat" || c.kind == "bot_chat" }

// role returns the role of a sender if the export says it: a bot is an assistant, a person is not.
func (c *telegramChat) role(from string) core.Role {
	switch {
	case c.kind == "saved_messages":
		return core.RoleUser
	case c.ofTwo() && (from == "user"+c.id || c.me != "" && from != c.me && from != ""):
		if c.kind == "bot_chat" {
			return core.RoleAssistant
		}
		return ""
	case c.ofTwo(), c.me != "" && from == c.me:
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

// other returns the text of a message with its place, contact, poll or list.
func (m telegramMessage) other(text string) string {
	switch {
	case m.Location != nil:
		text += fmt.Sprintf("\n[location %g, %g%s]", m.Location.Latitude, m.Location.Longitude,
			after(": ", joined(", ", m.Place, m.Address)))
	case m.Contact != nil:
		text += "\n[contact: " + joined(", ", joined(" ", m.Contact.First, m.Contact.Last), m.Contact.Phone) + "]"
	case m.Poll != nil:
		var answers []string
		for _, a := range m.Poll.Answers {
			answers = append(answers, fmt.Sprintf("%s (%d)", a.Text, a.Voters))
		}
		text += "\n[poll: " + m.Poll.Question + after(" ", strings.Join(answers, ", ")) + "]"
	case m.List != nil:
		var entries []string
		for _, a := range m.List.Answers {
			entries = append(entries, string(a.Text))
		}
		text += "\n[list: " + string(m.List.Title) + after(": ", strings.Join(entries, ", ")) + "]"
	}
	return strings.TrimSpace(text)
}

// reacted returns the reactions to a message, with who gave them as far as the export says.
func (m telegramMessage) reacted() string {
	var out []string
	for _, r := range m.Reactions {
		sign := cmp.Or(r.Emoji, map[string]string{"paid": "⭐"}[r.Type], "emoji")
		var who []string
		for _, p := range r.Recent {
			who = append(who, cmp.Or(p.From, deletedAccount))
		}
		if n := r.Count - len(who); n > 0 {
			who = append(who, strconv.Itoa(n))
		}
		out = append(out, sign+after(" ", strings.Join(who, ", ")))
	}
	if len(out) == 0 {
		return ""
	}
	return "\n[reactions: " + strings.Join(out, "; ") + "]"
}

// joined joins those of parts that are not empty.
func joined(by string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), by)
}

// after returns a text with a beginning, empty if it is.
func after(begin, text string) string {
	if text == "" {
		return ""
	}
	return begin + text
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
