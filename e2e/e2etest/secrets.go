//go:build e2e

package e2etest

import (
	"testing"
)

// Reads checks that a gateway can read the key of Ada's agent, by an answer there.
func (w *Town) Reads(t *testing.T, g *Gateway, say func(string), sent func(int) []string, n int) {
	t.Helper()
	say("hello")
	if got := sent(n); got[n-1] != "echo: hello" {
		t.Errorf("answered %q\n%s", got, g.Log)
	}
}
