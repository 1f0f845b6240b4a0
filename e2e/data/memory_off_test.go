//go:build e2e

package data

import (
	"strings"
	"testing"

	"github.com/everthread/everthread/e2e/e2etest"
)

// durable begins what the prompt says about memory.
const durable = "For lasting facts"

// Switching memory off removes it from the prompt and from the tools.
func TestMemory_switchedOff(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewClock(t, database(t))
		w.Start()
		w.Ask("/remember I keep bees behind the shed")
		if got := w.Ask(`call memory_search {"query":"bees"}`).Text; !strings.Contains(got, "behind the shed") {
			t.Errorf("on: got %q", got)
		}
		if got := w.Ask("/search off").Text; strings.Contains(got, "Memory is off") {
			t.Errorf("got search result %q", got)
		}
		if got := w.Ask("/memory off").Text; !strings.Contains(got, "Memory is off") {
			t.Errorf("got %q", got)
		}
		if got := w.Ask(`call memory_search {"query":"bees"}`).Text; strings.Contains(got, "behind the shed") ||
			strings.Contains(got, `"results"`) {
			t.Errorf("off: got %q", got)
		}
		if prompt := w.LastPrompt(); strings.Contains(prompt, durable) || strings.Contains(prompt, "general (1)") {
			t.Errorf("the prompt speaks of memory: %s", prompt)
		}
		if got := w.Ask("/memory").Text; !strings.Contains(got, "behind the shed") ||
			!strings.Contains(got, "Memory is off") {
			t.Errorf("got list %q", got)
		}
		w.Ask("/memory on")
		if got := w.Ask(`call memory_search {"query":"bees"}`).Text; !strings.Contains(got, "behind the shed") {
			t.Errorf("on again: got %q", got)
		}
		if prompt := w.LastPrompt(); !strings.Contains(prompt, durable) {
			t.Errorf("the prompt does not speak of memory: %s", prompt)
		}
	})
}
