//go:build e2e

package e2etest

import (
	"io"
	"net/http"
	"strings"
)

// Died waits until a process has died by itself.
func (g *Gateway) Died() {
	g.t.Helper()
	if !g.Wait(Patience) {
		g.t.Fatalf("it did not die\n%s", g.Log)
	}
	if code := g.Cmd.ProcessState.ExitCode(); code != 137 {
		g.t.Fatalf("exit code %d\n%s", code, g.Log)
	}
}

// Breaks posts a form and ignores an answer that breaks off.
func (v *Guest) Breaks(path, form string) string {
	v.G.t.Helper()
	method := http.MethodPost
	if form == "GET" {
		method, form = http.MethodGet, ""
	}
	r := v.Request(method, path, strings.NewReader(form))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := v.Do(r)
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	return string(b)
}
