package command_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/chat/command"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/trust"
)

func TestNeeds_areKnownCapabilities(t *testing.T) {
	t.Parallel()
	for _, n := range command.Needs() {
		if !slices.Contains(trust.Known(), n.Capability) {
			t.Errorf("%s needs %q", n.What, n.Capability)
		}
	}
}

// TestCommand_programDoesWhatItsKeyMay tries every command with every set of capabilities.
func TestCommand_programDoesWhatItsKeyMay(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "en")
	at, owner, err := w.Identify(w.ctx, w.ada)
	must(t, err)
	commands := command.New(w.options)
	for _, need := range command.Needs() {
		for _, grants := range [][]core.Capability{nil, {core.CanTalk}, {core.CanRead}, {core.CanMemory},
			{core.CanAdmin}, trust.Known()} {
			in := core.Inbound{Text: need.What + " 1", Program: true, Grants: grants, Command: true}
			out, ok, err := commands.Command(w.ctx, owner, at, in, w.now)
			if err != nil || !ok {
				t.Fatalf("%s: %v %v", need.What, ok, err)
			}
			may := slices.Contains(grants, need.Capability) && need.Capability != core.CanAccount
			if refused := strings.Contains(out.Text, "A program can't use"); refused == may || refused && changes(out.Effects) {
				t.Errorf("%s with %v: %q", need.What, grants, out.Text)
			}
		}
	}
}

// changes reports whether effects do more than report a refusal.
func changes(effects []core.Effect) bool {
	return slices.ContainsFunc(effects, func(e core.Effect) bool { _, ok := e.(effect.Tell); return !ok })
}
