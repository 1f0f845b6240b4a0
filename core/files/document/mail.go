package document

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"net/textproto"
	"strings"

	"golang.org/x/net/html/charset"
)

// Bounds of a mail: its parts in all, and how deeply they are nested.
const mostMailParts, deepestMail = 1000, 20

// readMail reads a mail, or a web page that was saved in one file: its headers, its text, and the names of what is
// attached.
func readMail(data []byte, s *sink) error {
	l := letter{sink: s}
	l.message(bytes.NewReader(data), 0)
	if strings.TrimSpace(l.out.String()) == "" {
		return readText(data, s)
	}
	return s.flow(l.subject, l.out.String())
}

// letter reads a mail.
type letter struct {
	*sink
	out     strings.Builder
	subject string
	parts   int
}

// message reads a mail, or one that is forwarded within it.
func (l *letter) message(r io.Reader, depth int) {
	m, err := mail.ReadMessage(r)
	if err != nil {
		return
	}
	for _, name := range []string{"From", "To", "Cc", "Date", "Subject"} {
		said := header(m.Header.Get(name))
		if said != "" {
			l.out.WriteString(name + ": " + said + "\n")
		}
		if name == "Subject" && depth == 0 {
			l.subject = said
		}
	}
	l.out.WriteString("\n" + l.part(textproto.MIMEHeader(m.Header), m.Body, depth) + "\n")
}

// header returns the words of a header.
func header(value string) string {
	decoder := mime.WordDecoder{CharsetReader: charset.NewReaderLabel}
	if said, err := decoder.DecodeHeader(value); err == nil {
		return said
	}
	return value
}

// part returns the text of a part, or the name of one that has none.
func (l *letter) part(h textproto.MIMEHeader, body io.Reader, depth int) string {
	if l.parts++; l.parts > mostMailParts || depth > deepestMail {
		return "[more parts that are not read]"
	}
	kind, params, err := mime.ParseMediaType(cmp.Or(h.Get("Content-Type"), "text/plain"))
	if err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) {
		kind = "text/plain"
	}
	disposition, names, _ := mime.ParseMediaType(h.Get("Content-Disposition")) // else it is shown within
	name := header(cmp.Or(names["filename"], params["name"]))
	switch strings.ToLower(strings.TrimSpace(h.Get("Content-Transfer-Encoding"))) {
	case "base64":
		body = base64.NewDecoder(base64.StdEncoding, body)
	case "quoted-printable":
		body = quotedprintable.NewReader(body)
	}
	switch {
	case strings.HasPrefix(kind, "multipart/"):
		return l.several(kind, multipart.NewReader(body, params["boundary"]), depth)
	case kind == "message/rfc822":
		within := letter{sink: l.sink, parts: l.parts}
		within.message(body, depth+1)
		l.parts = within.parts
		return within.out.String()
	case disposition != "attachment" && (kind == "text/css" || kind == "text/javascript"):
		return ""
	case disposition != "attachment" && strings.HasPrefix(kind, "text/"):
		return l.text(kind, params["charset"], body)
	case disposition != "attachment" && name == "" && strings.HasPrefix(kind, "image/"): // of a web page
		return ""
	}
	return "[attached, not read: " + cmp.Or(name, kind) + "]"
}

// several returns the texts of the parts of a part; of those that say the same, the plain one.
func (l *letter) several(kind string, r *multipart.Reader, depth int) string {
	var texts []string
	for l.parts <= mostMailParts {
		p, err := r.NextPart()
		if err != nil { // at the end, or what follows is broken
			break
		}
		said := l.part(p.Header, p, depth+1)
		if strings.TrimSpace(said) == "" {
			continue
		}
		texts = append(texts, said)
		if kind == "multipart/alternative" {
			break
		}
	}
	return strings.Join(texts, "\n\n")
}

// text returns a text; what was decoded of a broken one counts.
func (l *letter) text(kind, label string, body io.Reader) string {
	data, _ := io.ReadAll(io.LimitReader(body, maxText))
	var text string
	if e, _ := charset.Lookup(label); e != nil {
		data, _ = e.NewDecoder().Bytes(data)
		text = strings.ToValidUTF8(string(data), "\uFFFD")
	} else {
		text = l.decoded(data, kind)
	}
	if kind == "text/html" {
		if _, shown, err := webText(text); err == nil {
			return shown
		}
	}
	return text
}
