package signal

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/channel"
)

type attachment struct {
	ContentType string `json:"contentType"`
	Filename    string `json:"filename"`
	ID          string `json:"id"`
	Size        int64  `json:"size"`
}

type sticker struct {
	Pack string `json:"packId"`
	ID   int    `json:"stickerId"`
}

type poll struct {
	Question string   `json:"question"`
	Options  []string `json:"options"`
}

type payment struct {
	Note string `json:"note"`
}

// card is a shared contact.
type card struct {
	Name struct {
		Nickname, Given, Middle, Family string
	} `json:"name"`
	Phone, Email []struct {
		Value string `json:"value"`
	}
	Organization string `json:"organization"`
}

// content returns what a message says: its text with the marks of its styles and the names of the people it mentions,
// its files, and placeholders of what else it holds. It is empty if there is nothing to answer.
func (r *reader) content(person string, d *data, raw []byte) channel.Content {
	if d.ViewOnce {
		return channel.Bare("view-once message, which is not received here")
	}
	words := r.marked(d.Message, d.Styles, d.Mentions)
	var all []channel.Content
	for _, a := range d.Attachments {
		if a.ContentType == longText && len(d.Message) > maxText {
			continue // the daemon put it into the text
		}
		label, file := a.file(person)
		all = append(all, channel.File(label, words, file))
		words = ""
	}
	if d.Sticker != nil {
		all = append(all, channel.File("sticker", "", d.Sticker.file()))
	}
	for _, c := range d.Contacts {
		all = append(all, c.content())
	}
	if d.Poll != nil {
		all = append(all, channel.Object("poll", d.Poll.Question, channel.Choices(d.Poll.Options)))
	}
	if d.Payment != nil {
		all = append(all, channel.Object("payment", d.Payment.Note))
	}
	if strings.TrimSpace(words) != "" {
		all = append(all, channel.Words(words))
	}
	if len(all) == 0 {
		return unknown(raw)
	}
	said := all[0]
	for _, more := range all[1:] {
		said = said.With(more)
	}
	return said
}

// longText is the type of the file that holds a long text. Its message holds the beginning, or with newer daemons all.
const longText = "text/x-signal-plain"

// file returns the label and the file of an attachment that a person sent. Sounds without a name are voice notes.
func (a attachment) file(person string) (string, core.Attachment) {
	media, _, _ := strings.Cut(strings.ToLower(a.ContentType), ";")
	out := core.Attachment{Kind: "document", Name: a.Filename, MIME: a.ContentType, Size: a.Size}
	label := ""
	switch kind, _, _ := strings.Cut(media, "/"); {
	case kind == "image":
		out.Kind = "photo"
	case kind == "video":
		out.Kind = "video"
	case kind == "audio" && a.Filename == "":
		out.Kind = "voice"
	case kind == "audio":
		out.Kind, label = "audio", " "+a.Filename
	case media == longText:
		out.MIME, out.Name = "text/plain", cmp.Or(a.Filename, "message.txt")
		label = " " + out.Name
	default:
		label = " " + a.Filename
	}
	if a.ID != "" {
		out.Ref = url.Values{"id": {a.ID}, "from": {person}, "size": {fmt.Sprint(a.Size)}, "type": {out.MIME}}.Encode()
	}
	return out.Kind + label, out
}

func (s sticker) file() core.Attachment {
	return core.Attachment{Kind: "sticker", MIME: "image/webp",
		Ref: url.Values{"pack": {s.Pack}, "sticker": {fmt.Sprint(s.ID)}, "type": {"image/webp"}}.Encode()}
}

func (c card) content() channel.Content {
	words := []string{cmp.Or(strings.Join(strings.Fields(c.Name.Given+" "+c.Name.Middle+" "+c.Name.Family), " "),
		c.Name.Nickname)}
	for _, v := range slices.Concat(c.Phone, c.Email) {
		words = append(words, v.Value)
	}
	return channel.Object("contact", append(words, c.Organization)...)
}

// circumstances are the fields of a message that are not its content, and kinds of content that need no answer.
const circumstances = ` timestamp message expiresInSeconds isExpirationUpdate viewOnce reaction quote mentions previews
	attachments sticker remoteDelete contacts pollCreate payment textStyles groupInfo storyContext pollVote pollTerminate
	pinMessage unpinMessage adminDelete destination destinationNumber destinationUuid editMessage `

// unknown returns a placeholder that names content of types that the service has added since; empty: there is none.
func unknown(raw []byte) channel.Content {
	type fields = map[string]json.RawMessage
	var e struct {
		Envelope struct {
			Data fields `json:"dataMessage"`
			Edit struct {
				Data fields `json:"dataMessage"`
			} `json:"editMessage"`
			Sync struct {
				Sent fields `json:"sentMessage"`
			} `json:"syncMessage"`
		} `json:"envelope"`
	}
	_ = json.Unmarshal(raw, &e)
	var names []string
	for _, all := range []fields{e.Envelope.Data, e.Envelope.Edit.Data, e.Envelope.Sync.Sent} {
		for name, value := range all {
			if string(value) != "null" && !slices.Contains(strings.Fields(circumstances), name) {
				names = append(names, name)
			}
		}
	}
	if len(names) == 0 {
		return channel.Content{}
	}
	slices.Sort(names)
	return channel.Object("unsupported:", strings.Join(names, ", "))
}

// marks are the styles that change what a text says, as Markdown. Emphasis is left out.
var marks = map[string]string{"STRIKETHROUGH": "~~", "SPOILER": "||", "MONOSPACE": "`"}

// mostRanges bounds the ranges of a text that are read.
const mostRanges = 300

// marked returns a text with the names of the people it mentions, which the service leaves out of it, and the marks of
// its styles. The name of a command, and a text that is marked as a whole, stay as they are typed.
func (r *reader) marked(text string, styles []style, mentions []mention) string {
	if len(styles) == 0 && len(mentions) == 0 {
		return text
	}
	units := utf16.Encode([]rune(text))
	before, after := map[int]string{}, map[int]string{}
	styles = slices.Clone(styles[:min(len(styles), mostRanges)])
	slices.SortStableFunc(styles, func(a, b style) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.Length, a.Length))
	})
	for _, s := range styles {
		start, end, ok := within(units, s.Start, s.Length)
		if mark := marks[s.Style]; ok && mark != "" && !plain(text, units, start, end, mark) {
			before[start] += mark
			after[end] = mark + after[end]
		}
	}
	names := map[int]mention{}
	for _, m := range mentions[:min(len(mentions), mostRanges)] {
		if start, _, ok := within(units, m.Start, m.Length); ok {
			names[start] = m
		}
	}
	var out []uint16
	write := func(s string) { out = append(out, utf16.Encode([]rune(s))...) }
	for i := 0; i <= len(units); i++ {
		write(after[i] + before[i])
		if m, ok := names[i]; ok {
			write("@" + cmp.Or(r.name(m.UUID), m.Number, "somebody"))
			i += m.Length - 1
		} else if i < len(units) {
			out = append(out, units[i])
		}
	}
	return string(utf16.Decode(out))
}

// within returns a range as indexes of units, grown to whole characters. ok is false for one that is empty or outside.
func within(units []uint16, start, length int) (from, to int, ok bool) {
	if start < 0 || length <= 0 || start > len(units) || length > len(units)-start {
		return 0, 0, false
	}
	low := func(i int) bool {
		return i > 0 && i < len(units) && units[i]&0xFC00 == 0xDC00 && units[i-1]&0xFC00 == 0xD800
	}
	from, to = start, start+length
	if low(from) {
		from--
	}
	if low(to) {
		to++
	}
	return from, to, true
}

// plain reports whether a mark is left out: it touches the name of a command, or it is code or a spoiler around the
// whole text, as it is when somebody copies a code from a message.
func plain(text string, units []uint16, start, end int, mark string) bool {
	if strings.HasPrefix(text, "/") || strings.HasPrefix(text, "!") {
		name := slices.IndexFunc(units, func(u uint16) bool { return u == ' ' || u == '\n' || u == '\t' })
		return name < 0 || start < name
	}
	outside := string(utf16.Decode(units[:start])) + string(utf16.Decode(units[end:]))
	return strings.TrimSpace(outside) == "" && mark != "~~"
}
