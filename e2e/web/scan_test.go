//go:build e2e

package web

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/everthread/everthread/e2e/e2etest"
)

// scanned are the scanner's kinds of attacks, without those that contact a server of its
// authors (ssrf, xxe) or mostly wait (blindsql).
const scanned = "cookieflags,crlf,csp,exec,file,http_headers,permanentxss,redirect,sql,xss"

// beside are findings that do not count: a header that browsers no longer support, and
// features of HTTPS, which a proxy in front of the gateway provides.
var beside = []string{"X-XSS-Protection is not set", "Strict-Transport-Security is not set", "Secure flag is not set"}

// A scanner crawls the page with a session, and finds nothing.
func TestScanner_findsNothing(t *testing.T) {
	t.Parallel()
	wapiti, err := exec.LookPath("wapiti")
	if err != nil {
		t.Skip("wapiti is not there; `make test` installs it")
	}
	w := e2etest.NewTown(t, "")
	g := w.Start("EVERTHREAD_LIMITS_TURNS_PER_MINUTE=0")
	v := g.NewGuest(g.WebCode())
	v.Post("/messages", url.Values{"text": {"Where is the harbour?"}, "nonce": {e2etest.NonceFor("harbour")}})
	v.Post("/threads", url.Values{"title": {"A thread"}})
	w.Ledger().Quiet(e2etest.Patience, g.Log)
	front, seen := v.Behind(t, "/signout", "/settings/sessions/", "/settings/delete", "/settings/agents", "/live")
	dir := t.TempDir()
	report := filepath.Join(dir, "report.json")
	cmd := exec.CommandContext(t.Context(), wapiti, "-u", front+"/", "--scope", "folder", "-m", scanned, "-d", "4",
		"--max-links-per-page", "40", "--max-scan-time", "15", "--max-attack-time", "3", "-t", "5", "--flush-session",
		"--store-session", dir, "--store-config", dir, "--no-bugreport", "-f", "json", "-o", report)
	cmd.Env = append(os.Environ(), "HOME="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("wapiti: %v\n%s", err, out)
	}
	b, err := os.ReadFile(report)
	e2etest.Must(t, err)
	w.Artefact("wapiti.json", b)
	w.Artefact("wapiti.txt", out)
	var found struct{ Vulnerabilities, Anomalies map[string][]finding }
	e2etest.Must(t, json.Unmarshal(b, &found))
	for _, kinds := range []map[string][]finding{found.Vulnerabilities, found.Anomalies} {
		for kind, all := range kinds {
			for _, one := range all {
				if !slices.ContainsFunc(beside, func(s string) bool { return strings.HasPrefix(one.Info, s) }) {
					t.Errorf("%s: %s %s: %s\n%.400s", kind, one.Method, one.Path, one.Info, one.Request)
				}
			}
		}
	}
	t.Logf("%d requests to %d pages", seen.Requests.Load(), seen.Pages())
	if r, _ := v.Get("/settings"); r.StatusCode != http.StatusOK {
		t.Errorf("it was signed out on the way: %s", r.Status)
	}
	if strings.Contains(g.Log.String(), "page panicked") || strings.Contains(g.Log.String(), "\tERROR\t") {
		t.Errorf("the log shows errors\n%s", g.Log.Tail())
	}
}

// finding is a finding of the scanner.
type finding struct {
	Method, Path, Info string
	Request            string `json:"http_request"`
}
