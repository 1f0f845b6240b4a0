//go:build e2e

package e2etest

import (
	"net/http"
	"strings"
)

// Status makes a request without reading the whole answer, as some never end.
func (v *Guest) Status(method, path, key string) int {
	v.G.t.Helper()
	r := v.Request(method, path, strings.NewReader(""))
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := v.Do(r)
	Must(v.G.t, err)
	resp.Body.Close()
	return resp.StatusCode
}
