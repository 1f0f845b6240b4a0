package graph

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/channel"
	"github.com/everthread/everthread/core/text/markup"
)

// Content is the content of an outgoing message, in the field that Type names.
type Content struct {
	Type     string  `json:"type"`
	Context  *quoted `json:"context,omitempty"`
	Text     *text   `json:"text,omitempty"`
	Image    *File   `json:"image,omitempty"`
	Audio    *File   `json:"audio,omitempty"`
	Video    *File   `json:"video,omitempty"`
	Document *File   `json:"document,omitempty"`
}

type quoted struct {
	MessageID string `json:"message_id"`
}

type text struct {
	Body       string `json:"body"`
	PreviewURL bool   `json:"preview_url"`
}

// File is an uploaded file.
type File struct {
	ID       string `json:"id"`
	Caption  string `json:"caption,omitempty"`
	Filename string `json:"filename,omitempty"`
	Voice    bool   `json:"voice,omitempty"`
}

// Reply makes the message a reply to the message id, if that is a wamid.
func (c *Content) Reply(id string) {
	if strings.HasPrefix(id, "wamid.") {
		c.Context = &quoted{MessageID: id}
	}
}

// Say makes the message a text.
func (c *Content) Say(body string) { c.Type, c.Text = "text", &text{Body: body} }

// Carry makes the message a file of a kind: image, video, audio or document. Only a document has a name.
func (c *Content) Carry(kind string, f File, name string) {
	switch c.Type = kind; kind {
	case "image":
		c.Image = &f
	case "video":
		c.Video = &f
	case "audio":
		c.Audio = &f
	default:
		f.Filename = name
		c.Document = &f
	}
}

// Render returns p as the text of a message of at most max UTF-16 units, in WhatsApp's markup. It returns a
// *core.Permanent error if the text is empty or does not fit even without markup. to names the channel in errors.
func Render(to string, p core.Part, max int) (string, error) {
	if strings.TrimSpace(p.Text) == "" {
		return "", &core.Permanent{Err: fmt.Errorf("send to %s: the text is empty", to)}
	}
	text := markup.WhatsApp(markup.Text{Text: p.Text, Spans: p.Spans}, max)
	if n := markup.UTF16Len(text); n > max {
		return "", &core.Permanent{Err: fmt.Errorf("send to %s: the text has %d characters, and at most %d are accepted",
			to, n, max)}
	}
	return text, nil
}

// Caption returns the caption of a file, or "".
func Caption(to string, p core.Part, max int) (string, error) {
	if strings.TrimSpace(p.Text) == "" {
		return "", nil
	}
	return Render(to, core.Part{Text: p.Text, Spans: p.Spans}, max)
}

// Repeatable returns the error of a request that is harmless to repeat, such as an upload, without core.Unknown.
func Repeatable(err error) error {
	if unknown, ok := errors.AsType[*core.Unknown](err); ok {
		return unknown.Err
	}
	return err
}

// Media is a file of an incoming message.
type Media struct {
	ID       string `json:"id"`
	MIME     string `json:"mime_type"`
	SHA256   string `json:"sha256"` // Base64
	Caption  string `json:"caption"`
	Filename string `json:"filename"`
	Voice    bool   `json:"voice"`
}

// Files holds the file of an incoming message, in the field of its type.
type Files struct {
	Image    *Media `json:"image"`
	Video    *Media `json:"video"`
	Audio    *Media `json:"audio"`
	Document *Media `json:"document"`
	Sticker  *Media `json:"sticker"`
}

// Content returns the file with its placeholder, under the reference that ref makes of it. It is empty if there is none.
func (f Files) Content(ref func(m *Media) string) channel.Content {
	kind, m := f.file()
	if m == nil {
		return channel.Content{}
	}
	return channel.File(kind+" "+Clean(m.Filename), Clean(m.Caption),
		core.Attachment{Kind: kind, Ref: Clean(ref(m)), Name: Clean(m.Filename), MIME: Clean(m.MIME)})
}

func (f Files) file() (kind string, m *Media) {
	switch {
	case f.Image != nil:
		return "photo", f.Image
	case f.Video != nil:
		return "video", f.Video
	case f.Audio != nil && f.Audio.Voice:
		return "voice", f.Audio
	case f.Audio != nil:
		return "audio", f.Audio
	case f.Document != nil:
		return "document", f.Document
	}
	return "sticker", f.Sticker
}

// Unknown returns an event of which only the bytes are known.
func Unknown(name, account string, raw []byte, now time.Time) core.Inbound {
	sum := sha256.Sum256(raw)
	return core.Inbound{Address: core.Address{Channel: name, Account: account},
		EventID: "raw:" + hex.EncodeToString(sum[:]), Kind: core.InUnsupported, ReceivedAt: now, Raw: raw}
}

// Clean replaces NUL, which JSON can carry and PostgreSQL cannot store.
func Clean(s string) string { return strings.ReplaceAll(s, "\x00", "\uFFFD") }

// Seconds is a Unix time in JSON, as a string or number. Anything else is the zero time.
type Seconds struct{ time.Time }

// UnmarshalJSON never fails.
func (s *Seconds) UnmarshalJSON(raw []byte) error {
	n, err := strconv.ParseInt(strings.Trim(string(raw), `"`), 10, 64)
	if err == nil && n > 0 && n < 1<<36 {
		s.Time = time.Unix(n, 0).UTC()
	}
	return nil
}
