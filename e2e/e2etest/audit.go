//go:build e2e

package e2etest

import (
	"encoding/json"
	"slices"
)

// Done is a row of `everthread audit --json`.
type Done struct {
	User   int64   `json:"user_id"`
	ID     int64   `json:"id"`
	Via    string  `json:"via"`
	What   string  `json:"what"`
	Object string  `json:"object"`
	IDs    []int64 `json:"ids"`
	Tool   string  `json:"tool"`
	Result string  `json:"result"`
}

// Audit returns the audit, oldest first.
func (w *Town) Audit(args ...string) []Done {
	w.T.Helper()
	var out []Done
	Must(w.T, json.Unmarshal([]byte(w.MustRun(append([]string{"audit", "--json", "--limit", "1000"}, args...)...)), &out))
	slices.Reverse(out)
	return out
}
