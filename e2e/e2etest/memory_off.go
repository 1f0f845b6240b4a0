//go:build e2e

package e2etest

import (
	"fmt"
)

// LastPrompt returns the prompt of the newest turn.
func (w *Week) LastPrompt() string {
	w.T.Helper()
	return w.MustRun("turns", "show", fmt.Sprint(w.Ledger().Count(`SELECT MAX(id) FROM turns`)),
		"--user", "Ada", "--prompt")
}
