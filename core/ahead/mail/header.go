package mail

import (
	"io"
	"mime"
	"net/mail"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"

	"github.com/everthread/everthread/core/text"
	"github.com/everthread/everthread/core/trust"
)

// mostText bounds a subject and a name.
const mostText = 200

// words decodes words of headers in any encoding that browsers know.
var words = &mime.WordDecoder{CharsetReader: func(charset string, in io.Reader) (io.Reader, error) {
	e, err := htmlindex.Get(charset)
	if err != nil {
		return nil, err
	}
	return e.NewDecoder().Reader(in), nil
}}

// read takes over the lines of a header, of each name the first.
func (h *Header) read(header []byte) {
	fields := map[string]string{}
	name := ""
	for line := range strings.Lines(string(header)) {
		line = strings.TrimRight(line, "\r\n")
		if line == "" {
			break
		}
		if strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t") { // goes on with the one before
			if name != "" {
				fields[name] += " " + strings.TrimLeft(line, " \t")
			}
			continue
		}
		key, value, ok := strings.Cut(line, ":")
		key = strings.ToLower(strings.TrimSpace(key))
		if _, twice := fields[key]; !ok || twice || !slices.Contains([]string{"from", "subject", "date"}, key) {
			name = ""
			continue
		}
		name, fields[key] = key, strings.TrimSpace(value)
	}
	h.Subject = shown(decoded(fields["subject"]))
	h.sender(fields["from"])
	if at, err := mail.ParseDate(fields["date"]); h.At.IsZero() && err == nil {
		h.At = at
	}
}

// sender reads From. What is no address is a name.
func (h *Header) sender(from string) {
	parser := &mail.AddressParser{WordDecoder: words}
	list, err := parser.ParseList(utf8Of(from))
	if err != nil || len(list) == 0 {
		h.Name = shown(decoded(from))
		return
	}
	h.Name, h.Address = shown(list[0].Name), shown(list[0].Address)
}

// decoded returns a text of a header. Words that cannot be decoded stay as they are.
func decoded(s string) string {
	s = utf8Of(s)
	if out, err := words.DecodeHeader(s); err == nil {
		return out
	}
	return s
}

// utf8Of returns a text that may be in Windows-1252, which headers should not be.
func utf8Of(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	out, err := charmap.Windows1252.NewDecoder().String(s)
	if err != nil {
		return strings.ToValidUTF8(s, "\ufffd")
	}
	return out
}

func shown(s string) string { return text.Shorten(trust.Line(text.Clean(s)), mostText) }

// counts reports whether a message is of one of the senders that count: their address, or their domain.
func (a *Account) counts(h Header) bool {
	address := strings.ToLower(h.Address)
	return len(a.From) == 0 || slices.ContainsFunc(a.From, func(from string) bool {
		from = strings.ToLower(from)
		if name, domain, ok := strings.Cut(from, "@"); ok && name != "" {
			return address == from
		} else if ok {
			from = domain
		}
		return strings.HasSuffix(address, "@"+from)
	})
}

// has reports whether the sender of a message has a part in its name or address.
func (h Header) has(part string) bool {
	return strings.Contains(text.Fold(h.Name+" "+h.Address), text.Fold(part))
}
