package whatsapp

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/everthread/everthread/core/channel"
)

// content returns what m says, with placeholders for other content. It is empty if there is nothing to answer.
func content(m *message) channel.Content {
	said := body(m)
	if c := m.Context; c != nil && c.Product != nil && c.Product.ID != "" {
		said = said.With(channel.Object("about the product", c.Product.ID))
	}
	if r := m.Referral; r != nil {
		said = said.With(channel.Object("came from an advertisement:", r.Headline, r.Body, r.SourceURL))
	}
	said.Text = clean(said.Text)
	return said
}

func body(m *message) channel.Content {
	switch {
	case m.Text != nil:
		return channel.Words(m.Text.Body)
	case m.Button != nil:
		return channel.Words(cmp.Or(m.Button.Text, m.Button.Payload))
	case m.Interactive != nil:
		return chosen(m)
	case m.Order != nil:
		return m.Order.content()
	case m.Location != nil:
		return place(m.Location)
	case len(m.Contacts) > 0:
		return cards(m.Contacts)
	}
	if file := m.Content(reference); file.Text != "" {
		return file
	}
	return channel.Object("unsupported:", unsupported(m))
}

// chosen returns what a person tapped or entered in an interactive message.
func chosen(m *message) channel.Content {
	switch b, l, f := m.Interactive.ButtonReply, m.Interactive.ListReply, m.Interactive.Form; {
	case b != nil && strings.HasPrefix(b.ID, "/"): // the gateway's command
		return channel.Words(b.ID)
	case b != nil:
		return channel.Words(b.Title)
	case l != nil && l.Description != "":
		return channel.Words(l.Title + ": " + l.Description)
	case l != nil:
		return channel.Words(l.Title)
	case f != nil:
		return f.content()
	}
	return channel.Object("unsupported:", unsupported(m))
}

// content returns the fields of a form in their order, without the service's own token.
func (f *answers) content() channel.Content {
	d := json.NewDecoder(strings.NewReader(f.Fields))
	d.UseNumber()
	words := []string{cmp.Or(f.Name, "form") + ":"}
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return channel.Object("answers in", append(words, f.Body, f.Fields)...)
	}
	var fields []string
	for d.More() {
		name, err := d.Token()
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil {
			break
		}
		if name != "flow_token" {
			fields = append(fields, fmt.Sprintf("%v: %s", name, entered(value)))
		}
	}
	return channel.Object("answers in", append(words, strings.Join(fields, "; "))...)
}

// entered returns the value of a field in words.
func entered(value json.RawMessage) string {
	var one string
	var several []string
	switch {
	case json.Unmarshal(value, &one) == nil:
		return one
	case json.Unmarshal(value, &several) == nil:
		return strings.Join(several, ", ")
	}
	var compact bytes.Buffer
	_ = json.Compact(&compact, value) // it was decoded, so it is valid
	return compact.String()
}

// content returns the products of an order with their prices, and what the person wrote with it.
func (o *order) content() channel.Content {
	var items []string
	totals := map[string]float64{}
	for _, i := range o.Items {
		items = append(items, fmt.Sprintf("%s × %s at %s %s", amount(i.Quantity), i.Product, amount(i.Price), i.Currency))
		totals[i.Currency] += i.Quantity * i.Price
	}
	words := []string{strings.Join(items, "; ")}
	if len(totals) == 1 {
		for currency, sum := range totals {
			words = append(words, "– together", amount(sum), currency)
		}
	}
	return channel.Object("order:", words...).With(channel.Words(o.Text))
}

func amount(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

func place(l *location) channel.Content {
	at := channel.Position(l.Latitude, l.Longitude)
	if l.Name == "" && l.Address == "" && l.URL == "" {
		return channel.Bare("location", at)
	}
	kind := "location"
	if l.Name != "" {
		kind = "venue"
	}
	return channel.Object(kind, joined(", ", l.Name, l.Address, at, l.URL))
}

// joined joins the words that are not empty.
func joined(between string, words ...string) string {
	return strings.Join(slices.DeleteFunc(words, func(s string) bool { return strings.TrimSpace(s) == "" }), between)
}

func cards(cs []card) channel.Content {
	var out channel.Content
	for _, c := range cs {
		one := channel.Object("contact", c.words())
		if out.Text == "" {
			out = one
			continue
		}
		out = out.With(one)
	}
	return out
}

func (c card) words() string {
	var more []string
	for _, p := range c.Phones {
		more = append(more, cmp.Or(p.Phone, number(p.WaID)))
	}
	for _, e := range c.Emails {
		more = append(more, e.Email)
	}
	for _, a := range c.Addresses {
		more = append(more, joined(" ", a.Street, a.ZIP, a.City, a.Country))
	}
	for _, u := range c.URLs {
		more = append(more, u.URL)
	}
	name := cmp.Or(c.Name.Formatted, c.Name.First, c.Org.Company)
	if c.Org.Company != name {
		more = append(more, c.Org.Company)
	}
	return joined(" ", name, joined(", ", append(more, c.Birthday)...))
}

// Codes of files that the service lost, or that it does not pass on.
const (
	fileLost    = 131052
	fileRefused = 131053
)

func unsupported(m *message) string {
	for _, e := range m.Errors {
		if e.Code == fileLost || e.Code == fileRefused {
			return "a file that WhatsApp did not hand over: " + e.Text()
		}
	}
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
