//go:build e2e

package e2etest

import (
	"encoding/json"
)

// Doctor runs the check and returns its findings, as "ok …" or "PROBLEM …".
func (w *Town) Doctor(env ...string) map[string][]string {
	w.T.Helper()
	old := w.Env
	w.Env = append(append(w.Env[:len(w.Env):len(w.Env)], "EVERTHREAD_WEB_SEARCH=off"), env...) // no test reaches the web
	out, _ := w.Run("doctor", "--json")                                                        // it fails if anything is wrong
	w.Env = old
	var found []struct {
		Check, Detail string
		OK            bool
	}
	if err := json.Unmarshal([]byte(out), &found); err != nil {
		w.T.Fatalf("doctor said %q: %v", out, err)
	}
	said := map[string][]string{}
	for _, f := range found {
		mark := "ok "
		if !f.OK {
			mark = "PROBLEM "
		}
		said[f.Check] = append(said[f.Check], mark+f.Detail)
	}
	return said
}
