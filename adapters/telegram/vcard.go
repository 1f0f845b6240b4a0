package telegram

import (
	"io"
	"mime/quotedprintable"
	"slices"
	"strings"

	"github.com/everthread/everthread/core/text"
)

// cardFields are the fields of a contact card that are shown.
var cardFields = []string{"TEL", "EMAIL", "ORG", "TITLE", "ROLE", "ADR", "URL", "IMPP", "X-SOCIALPROFILE", "BDAY",
	"ANNIVERSARY", "NICKNAME", "NOTE"}

var (
	folded     = text.Pattern(`\r?\n[ \t]`)
	softBreak  = text.Pattern(`=\r?\n`)
	cardEscape = text.Pattern(`\\.|;`)
)

// vCard returns what a contact card says besides the name and the number: other numbers, addresses, dates, the company.
func vCard(card, number string) string {
	var out []string
	for line := range strings.Lines(softBreak().ReplaceAllString(folded().ReplaceAllString(card, ""), "")) {
		head, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		name, parameters, _ := strings.Cut(strings.ToUpper(head), ";")
		if i := strings.LastIndexByte(name, '.'); i >= 0 { // item1.EMAIL
			name = name[i+1:]
		}
		if !slices.Contains(cardFields, name) {
			continue
		}
		value = cardValue(value, parameters)
		if value != "" && !slices.Contains(out, value) && (name != "TEL" || digits(value) != digits(number)) {
			out = append(out, value)
		}
	}
	return strings.Join(out, ", ")
}

// cardValue returns a value in plain words.
func cardValue(value, parameters string) string {
	if strings.Contains(parameters, "QUOTED-PRINTABLE") {
		if plain, err := io.ReadAll(quotedprintable.NewReader(strings.NewReader(value))); err == nil {
			value = strings.ToValidUTF8(string(plain), "\ufffd")
		}
	}
	if year, day, ok := strings.Cut(value, "-"); ok && strings.Contains(parameters, "OMIT-YEAR="+year) {
		value = day
	}
	value = cardEscape().ReplaceAllStringFunc(value, func(s string) string {
		if s == ";" || s == `\n` || s == `\N` {
			return " "
		}
		return s[1:]
	})
	return strings.Join(strings.Fields(value), " ")
}

func digits(s string) string {
	return strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, s)
}
