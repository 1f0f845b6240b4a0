// Package trust decides what is allowed: what each door may do (capabilities), which actions need a question
// (approvals), which words are foreign (taint), how many tokens may be spent (the ledger) and where connections may go
// (package egress). Features and adapters import it; it imports none of them (docs/security.md).
package trust

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/audit"
	"github.com/everthread/everthread/core/text"
	"github.com/everthread/everthread/core/text/i18n"
)

// Open is the capability that everybody has, signed in or not.
const Open core.Capability = ""

// Door is an entrance that declares the capabilities that it needs.
type Door string

// Doors.
const (
	DoorCommand Door = "command"
	DoorPage    Door = "page"
	DoorAPI     Door = "api"
	DoorOpenAI  Door = "openai"
)

// Need is the capability that an action of a door needs.
type Need struct {
	Door       Door
	What       string // a command, a pattern of a route, the name of a tool
	Capability core.Capability
}

// Known returns all capabilities, in the order in which they are shown.
func Known() []core.Capability {
	return []core.Capability{core.CanTalk, core.CanRead, core.CanMemory, core.CanAccount, core.CanAdmin}
}

// Allows reports whether the grants of a program's key cover a need. A program never has core.CanAccount.
func Allows(grants []core.Capability, need core.Capability) bool {
	return need == Open || need != core.CanAccount && slices.Contains(grants, need)
}

// Word returns the name of a capability for people.
func Word(c core.Capability) string {
	switch c {
	case core.CanTalk:
		return "talk"
	case Open:
		return "open"
	}
	return string(c)
}

// OwnerWord must be typed to give an address the owner's rights.
const OwnerWord = "OWNER"

// AddressName returns an address with its own name as one line of Markdown, from which neither can break out.
func AddressName(a core.Address, name string) string {
	plain := func(s string) string { return text.Within(Line(strings.ReplaceAll(s, "`", " ")), 60) }
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

// YesNoAlways returns the buttons of a question about a call; with always also one that allows its tool for
// core.AllowLife.
func YesNoAlways(language, code string, always bool) []core.Button {
	out := YesNo(language, code, false)
	if always {
		out = slices.Insert(out, 1, core.Button{Label: say(language).Always, Command: "/yes " + code + " always"})
	}
	return out
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

// texts are the words of questions and of the audit.
type texts struct {
	Yes, No, Always string // on buttons
	Done            map[audit.What]string
	Results         map[audit.Result]string // those that are not obvious
	Vias            map[core.Via]string     // other than identities
}

var say = i18n.In[texts]("trust")

// AuditLine returns a row of the audit as a line: the action, its object and its result.
func AuditLine(language string, r audit.Row) string {
	out := cmp.Or(say(language).Done[r.What], string(r.What))
	if r.Tool != "" {
		out += " `" + strings.ReplaceAll(Line(r.Tool), "`", "'") + "`"
	}
	if r.Object != "" && len(r.IDs) > 0 && r.Object != "turn" {
		out += " #" + strconv.FormatInt(r.IDs[0], 10)
		if n := len(r.IDs) - 1; n > 0 {
			out += " +" + strconv.Itoa(n)
		}
	}
	if result := say(language).Results[r.Result]; result != "" {
		out += ": " + result
	}
	return out
}

// Through returns the actor of a row; identity is the name of the row's identity.
func Through(language string, r audit.Row, identity string) string {
	if r.Via == core.ViaIdentity {
		return cmp.Or(identity, "#"+strconv.FormatInt(r.ViaID, 10))
	}
	out := say(language).Vias[r.Via]
	if r.ViaID != 0 {
		out += " #" + strconv.FormatInt(r.ViaID, 10)
	}
	return out
}
