package trust

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/everthread/everthread/core"
)

// OwnerWord must be typed to give an address the owner's rights.
const OwnerWord = "OWNER"

// AddressName returns an address with its own name as one line of Markdown, from which
// neither can break out.
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

// YesNo returns the buttons of a question. If a word must be typed there is only no.
func YesNo(language, code string, typed bool) []core.Button {
	no := core.Button{Label: say(language).No, Command: "/no " + code}
	if typed {
		return []core.Button{no}
	}
	return []core.Button{{Label: say(language).Yes, Command: "/yes " + code}, no}
}

// WithButtons puts buttons below the last part.
func WithButtons(parts []core.Part, buttons []core.Button) []core.Part {
	if n := len(parts); n > 0 {
		parts[n-1].Buttons = buttons
	}
	return parts
}

// CodeHash returns the stored form of a code: the hex SHA-256 of its capital characters,
// without the separators of groups.
func CodeHash(code string) string {
	clean := strings.ToUpper(strings.NewReplacer("-", "", " ", "").Replace(strings.TrimSpace(code)))
	sum := sha256.Sum256([]byte(clean))
	return hex.EncodeToString(sum[:])
}
