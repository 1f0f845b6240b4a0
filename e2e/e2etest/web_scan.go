//go:build e2e

package e2etest

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// traffic is what passed.
type traffic struct {
	Requests atomic.Int64
	mu       sync.Mutex
	paths    map[string]bool
}

func (c *traffic) Pages() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.paths)
}

// Behind serves the page as the guest sees it, but for what begins with some
// paths, which would end the visit or take long.
func (v *Guest) Behind(t *testing.T, not ...string) (string, *traffic) {
	t.Helper()
	to, err := url.Parse(v.G.URL)
	Must(t, err)
	session := "everthread=" + v.Cookie()
	proxy := &httputil.ReverseProxy{ErrorLog: log.New(io.Discard, "", 0), Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.Header.Set("Cookie", session)
	}}
	c := &traffic{paths: map[string]bool{}}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.Requests.Add(1)
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
