//go:build e2e

package e2etest

import (
	"net/http"
	"strings"
)

// Control configures the model emulator: with a body by POST, else DELETE.
func (w *Town) Control(path, body string) {
	w.T.Helper()
	method := http.MethodPost
	if body == "" {
		method = http.MethodDelete
	}
	r, err := http.NewRequestWithContext(w.T.Context(), method, w.Model+path, strings.NewReader(body))
	Must(w.T, err)
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	Must(w.T, err)
	resp.Body.Close()
	if resp.StatusCode >= 300 {
		w.T.Fatalf("%s answers %s", path, resp.Status)
	}
}
