//go:build e2e

package e2etest

import (
	"strings"
)

// WantDoctor checks that doctor's findings of one thing say something.
func (w *Town) WantDoctor(check, want string, env ...string) {
	w.T.Helper()
	if all := strings.Join(w.Doctor(env...)[check], "\n"); !strings.Contains(all, want) {
		w.T.Errorf("%v: %s: got %q, want %q", env, check, all, want)
	}
}
