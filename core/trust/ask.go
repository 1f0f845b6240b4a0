package trust

import (
	"strings"

	"github.com/everthread/everthread/core"
)

// OwnerWord has to be typed where the gateway itself changes hands.
const OwnerWord = "OWNER"

// AddressName is an address with the name that it gives itself, as one line of
// Markdown that nothing in it can break out of.
func AddressName(a core.Address, name string) string {
	plain := func(s string) string {
		s = Line(strings.ReplaceAll(s, "`", " "))
		if r := []rune(s); len(r) > 60 {
			return string(r[:59]) + "…"
		}
		return s
	}
	out := a.Channel + " `" + plain(a.External) + "`"
	if name := plain(name); name != "" {
		out += ", `" + name + "`"
	}
	return out
}

// YesNo are the buttons of a question. Where a word has to be typed there is only
// the one that says no.
func YesNo(language, code string, typed bool) []core.Button {
	yes, no := core.Button{Label: say(language).Yes, Command: "/yes " + code},
		core.Button{Label: say(language).No, Command: "/no " + code}
	if typed {
		return []core.Button{no}
	}
	return []core.Button{yes, no}
}

// WithButtons puts buttons below the last part.
func WithButtons(parts []core.Part, buttons []core.Button) []core.Part {
	if n := len(parts); n > 0 {
		parts[n-1].Buttons = buttons
	}
	return parts
}
