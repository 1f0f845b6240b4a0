package importer

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/everthread/everthread/core/text"
)

// readWhatsApp reads the text of an exported WhatsApp chat, alone or in a ZIP file with its files.
func readWhatsApp(a *Archive, names []string, o Options, out output) error {
	chats := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return path.Base(name) != "_chat.txt" })
	if len(chats) == 0 {
		chats = names[:1] // the others are files of the chat
	}
	return each(chats, func(name string) error {
		w := &whatsapp{name: name, zone: o.Zone, out: out, said: map[string]int{}, dates: dateOrder{Order: o.Order}}
		err := eachLine(a, name, silent(), func(_ int, line []byte) error {
			if h, ok := parseHead(string(line)); ok {
				w.dates.see(h)
			}
			return nil
		})
		if err != nil {
			return err
		}
		if err := w.dates.settle(o.Zone); err != nil {
			return err
		}
		if err := eachLine(a, name, out, w.read); err != nil {
			return err
		}
		if w.line != nil && a.stops(name) {
			return w.skip("the file stops within it; if it does not, end it with a line break")
		}
		return w.end()
	})
}

// whatsapp reads a chat: once for the form of its dates, and once for its messages.
type whatsapp struct {
	name   string
	zone   *time.Location
	out    output
	dates  dateOrder
	line   *Line // the current message, which may continue
	at     int   // its first line in the file
	minute time.Time
	said   map[string]int // equal messages of that minute
}

// read reads a line of the file, which begins or continues a message.
func (w *whatsapp) read(n int, raw []byte) error {
	if bytes.IndexByte(raw, 0) >= 0 {
		return w.out.skip(fmt.Sprintf("%s, line %d", w.name, n), "it is no text in UTF-8")
	}
	line := strings.ToValidUTF8(string(raw), "\ufffd")
	h, ok := parseHead(line)
	if !ok {
		switch {
		case w.line != nil:
			w.line.Text += "\n" + line
		case strings.TrimSpace(line) != "" && w.at == 0:
			w.out.left(fmt.Sprintf("%s, line %d", w.name, n), "it stands before the first message")
		}
		return nil
	}
	if err := w.end(); err != nil {
		return err
	}
	w.at = n
	from, text, ok := cutSpeaker(h.rest)
	if !ok {
		return w.skip("it is a notice of WhatsApp")
	}
	w.line = &Line{At: w.dates.time(h, w.zone), From: from, Text: text}
	return nil
}

func (w *whatsapp) skip(why string) error {
	return w.out.skip(fmt.Sprintf("%s, line %d", w.name, w.at), why)
}

// end passes on the current message.
func (w *whatsapp) end() error {
	l := w.line
	if w.line = nil; l == nil {
		return nil
	}
	switch {
	case l.At.IsZero():
		return w.skip("its time cannot be read")
	case matches("deleted", l.Text):
		return w.skip("it was deleted")
	case matches("notice", l.Text):
		return w.skip("it is a notice of WhatsApp")
	}
	if w.attach(l); len(l.Files) == 0 && led(l.Text) {
		return w.skip("it is a notice of WhatsApp")
	}
	l.Text = strings.TrimSpace(editedMark().ReplaceAllString(unmarked(l.Text), ""))
	if l.Text == "" && len(l.Files) == 0 {
		return w.skip("it is empty")
	}
	w.number(l)
	return w.out.line(*l)
}

// number gives a message an id if there was an equal one in its minute.
func (w *whatsapp) number(l *Line) {
	if !l.At.Equal(w.minute) {
		w.minute = l.At
		clear(w.said)
	}
	key := l.From + "\x00" + l.Text
	if w.said[key]++; w.said[key] > 1 {
		l.ID = fmt.Sprintf("%d again at %s", w.said[key], l.At.Format("15:04:05"))
	}
}

var (
	speaker     = text.Pattern(`^([^:]{1,120}?)\s?:\s(.*)$|^([^:]{1,120}?):$`)
	attached    = text.Pattern(`^[<‹＜][^<>:：]{2,30}\s?[:：]\s?([^<>‹›＞/\\]+\.[0-9A-Za-z]{1,5})[>›＞]`)
	parenthesis = text.Pattern(`^([^/\\:*?"<>|\n]{1,150}\.[0-9A-Za-z]{1,5}) \([^()\n]{5,40}\)`)
	editedMark  = text.Pattern(
		`(?i)\s*<[^<>\n]*(edited|bearbeitet|modifié|editó|editado|editada|modificato|bewerkt|изменено|edytowan|redigera|` +
			`redigere|redigert|düzenlendi|muokattu|upraven|szerkeszt|editat|diedit|змінено|відредаговано|编辑|編輯|編集|수정|편집)` +
			`[^<>\n]*>$`)
	quoting = text.Pattern(`^[^"]*(?:"[^"]*"[^"]*)*"[^"]*$|[„«][^“”»]*$|“[^”„]*$`)
)

// cutSpeaker splits a message into speaker and text. Notices have no speaker, but perhaps a colon, in what they quote.
func cutSpeaker(s string) (from, text string, ok bool) {
	m := speaker().FindStringSubmatch(unmarked(s))
	if m == nil {
		return "", "", false
	}
	from = strings.TrimSpace(strings.TrimPrefix(m[1]+m[3], "~"))
	if quoting().MatchString(from) || matches("act", from) {
		return "", "", false
	}
	_, text, _ = strings.Cut(s, ":")
	return from, strings.TrimPrefix(strings.TrimPrefix(text, " "), "\u202f"), from != ""
}

// unmarked returns a text without invisible marks of direction, and with plain spaces.
func unmarked(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case isMark(r) || r == '\u2068' || r == '\u2069':
			return -1
		case r == '\u00a0' || r == '\u202f':
			return ' '
		}
		return r
	}, s)
}

// led reports whether a text is WhatsApp's own: one line that begins with a mark of direction. Polls have several, and
// places have an address.
func led(text string) bool {
	return strings.HasPrefix(text, "\u200e") && !strings.Contains(text, "\n") && !strings.Contains(text, "://")
}

// attach finds the file that the text of a message names.
func (w *whatsapp) attach(l *Line) {
	text := unmarked(l.Text)
	for _, form := range []*regexp.Regexp{attached(), parenthesis()} {
		m := form.FindStringSubmatchIndex(text)
		if m == nil || form == parenthesis() && !matches("attached", text[m[2]:m[1]]) {
			continue
		}
		name := text[m[2]:m[3]]
		f := File{Kind: kindOf(name), Name: name, Entry: beside(w.name, name)}
		l.Files = []File{f}
		l.Text = placeholder(f, "", strings.TrimSpace(text[m[1]:]))
		return
	}
	first, caption, _ := strings.Cut(text, "\n")
	kind := ""
	switch {
	case slices.Contains(chatWords()["absent"], strings.ToLower(strings.Trim(first, "<>"))) && first[0] == '<':
		kind = "file"
	case strings.HasPrefix(l.Text, "\u200e"):
		kind = omittedKind(first)
	}
	if kind != "" {
		l.Files = []File{{Kind: kind}}
		l.Text = placeholder(l.Files[0], "", strings.TrimSpace(caption))
	}
}

func kindOf(name string) string {
	switch strings.ToLower(path.Ext(name)) {
	case ".jpg", ".jpeg", ".png", ".heic", ".gif":
		return "photo"
	case ".webp":
		return "sticker"
	case ".mp4", ".mov", ".3gp", ".avi", ".mkv", ".webm":
		return "video"
	case ".opus", ".ogg":
		return "voice"
	case ".mp3", ".m4a", ".aac", ".wav":
		if strings.Contains(strings.ToUpper(name), "PTT") {
			return "voice"
		}
		return "audio"
	case ".vcf":
		return "contact"
	}
	return "document"
}
