// Package trust decides what is allowed: what each door may do (capabilities), which actions
// need a question (approvals), which words are foreign (taint), how many tokens may be spent
// (the ledger) and where connections may go (package egress). Features and adapters import
// it; it imports none of them (docs/security.md).
package trust

import (
	"slices"

	"github.com/everthread/everthread/core"
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

// Allows reports whether the grants of a program's key cover a need. A program
// never has core.CanAccount.
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
