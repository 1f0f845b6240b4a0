//go:build e2e

package e2e

import (
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// scanned are the kinds of attacks that the scanner tries. Those that ask a server
// of its authors (ssrf, xxe) or mostly wait (blindsql) are left out.
const scanned = "cookieflags,crlf,csp,exec,file,http_headers,permanentxss,redirect,sql,xss"

// beside are findings that are none here: a header that browsers have given up,
// and what holds by https only, which a proxy in front of the gateway brings.
var beside = []string{"X-XSS-Protection is not set", "Strict-Transport-Security is not set", "Secure flag is not set"}

// A scanner crawls the page as somebody who is signed in, and finds nothing.
func TestAScannerFindsNothing(t *testing.T) {
	t.Parallel()
	wapiti, err := exec.LookPath("wapiti")
	if err != nil {
		t.Skip("wapiti is not there; `make test` installs it")
	}
	w := newTown(t, "")
	g := w.start("EVERTHREAD_LIMITS_TURNS_PER_MINUTE=0")
	v := g.newGuest(g.webCode())
	v.post("/messages", url.Values{"text": {"Where is the harbour?"}, "nonce": {nonceFor("harbour")}})
	v.post("/threads", url.Values{"title": {"A thread"}})
	w.ledger().quiet(patience, g.log)
	front, seen := v.behind(t, "/signout", "/settings/sessions/", "/settings/delete", "/settings/agents", "/live")
	dir := t.TempDir()
	report := filepath.Join(dir, "report.json")
	cmd := exec.CommandContext(t.Context(), wapiti, "-u", front+"/", "--scope", "folder", "-m", scanned, "-d", "4", "--max-links-per-page", "40", "--max-scan-time", "15",
		"--max-attack-time", "3", "-t", "5", "--flush-session", "--store-session", dir, "--store-config", dir, "--no-bugreport", "-f", "json", "-o", report)
	cmd.Env = append(os.Environ(), "HOME="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("wapiti: %v\n%s", err, out)
	}
	b, err := os.ReadFile(report)
	must(t, err)
	w.artefact("wapiti.json", b)
	w.artefact("wapiti.txt", out)
	var found struct{ Vulnerabilities, Anomalies map[string][]finding }
	must(t, json.Unmarshal(b, &found))
	for _, kinds := range []map[string][]finding{found.Vulnerabilities, found.Anomalies} {
		for kind, all := range kinds {
			for _, one := range all {
				if !slices.ContainsFunc(beside, func(s string) bool { return strings.HasPrefix(one.Info, s) }) {
					t.Errorf("%s: %s %s: %s\n%.400s", kind, one.Method, one.Path, one.Info, one.Request)
				}
			}
		}
	}
	t.Logf("%d requests to %d pages", seen.requests.Load(), seen.pages())
	if r, _ := v.get("/settings"); r.StatusCode != http.StatusOK {
		t.Errorf("it was signed out on the way: %s", r.Status)
	}
	if strings.Contains(g.log.String(), "a page broke") || strings.Contains(g.log.String(), "\tERROR\t") {
		t.Errorf("the log shows errors\n%s", g.log.tail())
	}
}

// finding is one of the scanner's.
type finding struct {
	Method, Path, Info string
	Request            string `json:"http_request"`
}

// traffic is what passed.
type traffic struct {
	requests atomic.Int64
	mu       sync.Mutex
	paths    map[string]bool
}

func (c *traffic) pages() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.paths)
}

// behind serves the page as the guest sees it, but for what begins with some
// paths, which would end the visit or take long.
func (v *guest) behind(t *testing.T, not ...string) (string, *traffic) {
	t.Helper()
	to, err := url.Parse(v.g.URL)
	must(t, err)
	session := "everthread=" + v.cookie()
	proxy := &httputil.ReverseProxy{ErrorLog: log.New(io.Discard, "", 0), Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.Header.Set("Cookie", session)
	}}
	c := &traffic{paths: map[string]bool{}}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.requests.Add(1)
		c.mu.Lock()
		c.paths[r.Method+" "+r.URL.Path] = true
		c.mu.Unlock()
		if slices.ContainsFunc(not, func(p string) bool { return strings.HasPrefix(r.URL.Path, p) }) {
			http.NotFound(w, r)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL, c
}
