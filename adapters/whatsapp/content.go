package whatsapp

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/everthread/everthread/adapters/whatsapp/graph"
	"github.com/everthread/everthread/core"
)

// content returns the text of m, with placeholders for other content, and its files. The
// text is empty if there is nothing to answer.
func content(m *message) (string, []core.Attachment) {
	text, files := body(m)
	if text != "" && m.Referral != nil {
		text += "\n[referral: " + strings.Join(strings.Fields(m.Referral.Headline+" "+m.Referral.SourceURL), " ") + "]"
	}
	return clean(text), files
}

func body(m *message) (string, []core.Attachment) {
	switch {
	case m.Text != nil:
		return m.Text.Body, nil
	case m.Button != nil:
		return cmp.Or(m.Button.Text, m.Button.Payload), nil
	case m.Interactive != nil && m.Interactive.ButtonReply != nil && strings.HasPrefix(m.Interactive.ButtonReply.ID, "/"):
		return m.Interactive.ButtonReply.ID, nil // the gateway's command
	case m.Interactive != nil && m.Interactive.ButtonReply != nil:
		return m.Interactive.ButtonReply.Title, nil
	case m.Interactive != nil && m.Interactive.ListReply != nil:
		return m.Interactive.ListReply.Title, nil
	case m.Location != nil:
		return place(m.Location), nil
	case len(m.Contacts) > 0:
		return cards(m.Contacts), nil
	}
	if kind, label, f := m.File(); f != nil {
		return label, []core.Attachment{{Kind: kind, Ref: reference(f), Name: clean(f.Filename), MIME: clean(f.MIME)}}
	}
	return "[unsupported: " + unsupported(m) + "]", nil
}

func place(l *location) string {
	at := fmt.Sprintf("%.5f,%.5f", l.Latitude, l.Longitude)
	words := slices.DeleteFunc([]string{l.Name, l.Address, at}, func(s string) bool { return s == "" })
	kind := "location"
	if l.Name != "" {
		kind = "venue"
	}
	return "[" + kind + " " + strings.Join(words, ", ") + "]"
}

func cards(cs []card) string {
	lines := make([]string, len(cs))
	for i, c := range cs {
		words := []string{"contact", cmp.Or(c.Name.Formatted, c.Name.First, c.Org.Company)}
		for _, p := range c.Phones {
			words = append(words, cmp.Or(p.Phone, number(p.WaID)))
		}
		lines[i] = "[" + strings.Join(strings.Fields(strings.Join(words, " ")), " ") + "]"
	}
	return strings.Join(lines, "\n")
}

// unsupported names the type of m.
func unsupported(m *message) string {
	switch {
	case m.Unsupported != nil && m.Unsupported.Type != "":
		return m.Unsupported.Type
	case m.Interactive != nil && m.Interactive.Type != "":
		return m.Interactive.Type
	case m.Type == "unsupported":
		return "message"
	}
	return cmp.Or(m.Type, "message")
}

// unavailable reports whether the service cannot deliver m yet.
func unavailable(m *message) bool {
	return m.Type == "unsupported" && slices.ContainsFunc(m.Errors,
		func(e graph.Described) bool { return e.Code == 131060 })
}

// payload returns the payload of the pressed button, or "".
func payload(m *message) string {
	switch {
	case m.Button != nil:
		return m.Button.Payload
	case m.Interactive != nil && m.Interactive.ButtonReply != nil:
		return m.Interactive.ButtonReply.ID
	}
	return ""
}
