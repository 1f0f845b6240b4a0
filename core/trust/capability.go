// Package trust decides what may be done: what each door may do (capabilities),
// what asks first (approvals), which words are somebody else's (taint), what may
// be spent (the ledger) and where connections may go (the way out). Features and
// adapters import it; it imports none of them (docs/security.md).
package trust

import (
	"slices"

	"github.com/everthread/everthread/core"
)

// Open is the need of what everybody may do, signed in or not.
const Open core.Capability = ""

// Door is a way in that names what it needs.
type Door string

// Doors.
const (
	DoorCommand Door = "command"
	DoorPage    Door = "page"
	DoorAPI     Door = "api"
	DoorOpenAI  Door = "openai"
)

// Need says what something that is reached through a door needs.
type Need struct {
	Door       Door
	What       string // a command, a pattern of a route, the name of a tool
	Capability core.Capability
}

// Known are all capabilities, in the order in which they are shown.
func Known() []core.Capability {
	return []core.Capability{core.CanTalk, core.CanRead, core.CanMemory, core.CanAccount, core.CanAdmin}
}

// Allows reports whether the grants of a program's key cover a need. A program
// never has core.CanAccount.
func Allows(grants []core.Capability, need core.Capability) bool {
	return need == Open || need != core.CanAccount && slices.Contains(grants, need)
}

// Word is the word for a capability that people read.
func Word(c core.Capability) string {
	switch c {
	case core.CanTalk:
		return "talk"
	case Open:
		return "open"
	}
	return string(c)
}
