//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"testing"
)

// durable is how the prompt begins to speak of memory.
const durable = "For a durable fact"

// lastPrompt is the prompt of the newest turn.
func (w *week) lastPrompt() string {
	w.t.Helper()
	return w.mustRun("turns", "show", fmt.Sprint(w.ledger().count(`SELECT MAX(id) FROM turns`)), "--user", "Ada", "--prompt")
}

// Those who switch memory off have a model without it.
func TestMemoryIsSwitchedOff(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := newClock(t, database(t))
		w.start()
		w.ask("/remember I keep bees behind the shed")
		if got := w.ask(`call memory_search {"query":"bees"}`).Text; !strings.Contains(got, "behind the shed") {
			t.Errorf("on: got %q", got)
		}
		if got := w.ask("/search off").Text; strings.Contains(got, "Memory is off") {
			t.Errorf("a search for off says %q", got)
		}
		if got := w.ask("/memory off").Text; !strings.Contains(got, "Memory is off") {
			t.Errorf("got %q", got)
		}
		if got := w.ask(`call memory_search {"query":"bees"}`).Text; strings.Contains(got, "behind the shed") || strings.Contains(got, `"results"`) {
			t.Errorf("off: got %q", got)
		}
		if prompt := w.lastPrompt(); strings.Contains(prompt, durable) || strings.Contains(prompt, "general (1)") {
			t.Errorf("the prompt speaks of memory: %s", prompt)
		}
		if got := w.ask("/memory").Text; !strings.Contains(got, "behind the shed") || !strings.Contains(got, "Memory is off") {
			t.Errorf("the list says %q", got)
		}
		w.ask("/memory on")
		if got := w.ask(`call memory_search {"query":"bees"}`).Text; !strings.Contains(got, "behind the shed") {
			t.Errorf("on again: got %q", got)
		}
		if prompt := w.lastPrompt(); !strings.Contains(prompt, durable) {
			t.Errorf("the prompt does not speak of memory: %s", prompt)
		}
	})
}
