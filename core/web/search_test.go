package web

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/everthread/everthread/core/trust/egress"
)

const testKey = "tvly-S3cretKey0fTheOperator"

// served is what a provider's server answers with.
type served struct {
	status int
	file   string // in testdata/searches
	header map[string]string
	check  func(t *testing.T, r *http.Request)
}

// serve runs a server and returns its address.
func serve(t *testing.T, s served) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.check != nil {
			s.check(t, r)
		}
		for k, v := range s.header {
			w.Header().Set(k, v)
		}
		w.WriteHeader(s.status)
		if s.file == "" {
			return
		}
		data, err := os.ReadFile(filepath.Join("testdata/searches", s.file))
		if err != nil {
			t.Error(err)
		}
		_, _ = w.Write(data)
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

func providers(at string) map[string]Provider {
	return map[string]Provider{"searxng": SearXNG{URL: at + "/"}, "brave": Brave{Key: testKey, URL: at},
		"tavily": Tavily{Key: testKey, URL: at}, "exa": Exa{Key: testKey, URL: at}, "kagi": Kagi{Key: testKey, URL: at},
		"duckduckgo": DuckDuckGo{URL: at}}
}

func find(t *testing.T, provider, at, query string, limit int) ([]Result, error) {
	t.Helper()
	gate := egress.New(egress.Options{AllowPrivate: true})
	return providers(at)[provider].Search(t.Context(), gate.Client(), query, limit)
}

// TestSearch_everyProvider checks that each provider is asked as it wants to be, and that its answer is read.
func TestSearch_everyProvider(t *testing.T) {
	t.Parallel()
	asked := func(path string, header map[string]string, words string) func(*testing.T, *http.Request) {
		return func(t *testing.T, r *http.Request) {
			body := make([]byte, 4096)
			n, _ := r.Body.Read(body)
			if r.URL.Path != path || !strings.Contains(r.URL.RawQuery+string(body[:n]), words) {
				t.Errorf("%s %s %s", r.Method, r.URL, body[:n])
			}
			for k, v := range header {
				if r.Header.Get(k) != v {
					t.Errorf("%s: %q", k, r.Header.Get(k))
				}
			}
			if r.Header.Get("User-Agent") != Agent {
				t.Errorf("user agent %q", r.Header.Get("User-Agent"))
			}
		}
	}
	for name, s := range map[string]served{
		"searxng":    {file: "searxng.json", check: asked("/search", nil, "format=json&q=weather+lyon")},
		"brave":      {file: "brave.json", check: asked("/res/v1/web/search", map[string]string{"X-Subscription-Token": testKey}, "q=weather+lyon")},
		"tavily":     {file: "tavily.json", check: asked("/search", map[string]string{"Authorization": "Bearer " + testKey}, `"query":"weather lyon"`)},
		"exa":        {file: "exa.json", check: asked("/search", map[string]string{"X-Api-Key": testKey}, `"query":"weather lyon"`)},
		"kagi":       {file: "kagi.json", check: asked("/api/v1/search", map[string]string{"Authorization": "Bearer " + testKey}, `"query":"weather lyon"`)},
		"duckduckgo": {file: "duckduckgo.html", check: asked("/html/", nil, "q=weather+lyon")},
	} {
		s.status = http.StatusOK
		got, err := find(t, name, serve(t, s), "weather lyon", 5)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		excerpt := "Tomorrow: 12 °C, light rain in the morning & sun later."
		day := "2026-11-27"
		switch name {
		case "exa":
			excerpt = "Tomorrow: 12 °C, light rain in the morning … sun later."
		case "duckduckgo":
			day = ""
		}
		want := []Result{{"Weather in Lyon – Météo", "https://meteo.example/lyon?day=1", day, excerpt},
			{"City weather", "https://city.example/weather", "", "Forecast for seven days."}}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		if got, err = find(t, name, serve(t, s), "weather lyon", 1); err != nil || len(got) != 1 {
			t.Errorf("%s with a limit: %v, %v", name, got, err)
		}
	}
}

// TestSearch_saysWhatToDo checks that each failure of a provider is said in plain words, with what to do, and without
// the key.
func TestSearch_saysWhatToDo(t *testing.T) {
	t.Parallel()
	wait := map[string]string{"Retry-After": "90"}
	cases := []struct {
		provider string
		served
		want string
	}{
		{"searxng", served{status: 403}, "add json to search.formats"},
		{"searxng", served{status: 200, file: "page.html"}, "a page instead of JSON"},
		{"searxng", served{status: 429, header: wait}, "try again in 1m30s"},
		{"searxng", served{status: 200, file: "searxng-dead.json"}, "no answer from its search engines"},
		{"searxng", served{status: 500}, "check web.searxng_url"},
		{"brave", served{status: 422, file: "brave-key.json"}, "check web.brave_key"},
		{"brave", served{status: 429, file: "brave-quota.json", header: wait}, "try again in 1m30s"},
		{"brave", served{status: 200, file: "page.html"}, "no list of results"},
		{"brave", served{status: 422}, "refused the search (HTTP 422)"},
		{"brave", served{status: 302, header: map[string]string{"Location": "http://127.0.0.1:1/"}}, "refused the search (HTTP 302)"},
		{"tavily", served{status: 401, file: "tavily-key.json"}, "check web.tavily_key"},
		{"tavily", served{status: 432, file: "tavily-quota.json"}, "are used up"},
		{"tavily", served{status: 429, header: map[string]string{"Retry-After": "Sat, 28 Nov 2026 22:00:00 GMT"}}, "after 28 Nov 22:00 UTC"},
		{"exa", served{status: 401, file: "exa-key.json"}, "check web.exa_key"},
		{"exa", served{status: 402, file: "exa-quota.json"}, "no credit left"},
		{"exa", served{status: 429}, "try again later"},
		{"exa", served{status: 503}, "fault of its own (HTTP 503)"},
		{"kagi", served{status: 401, file: "kagi-key.json"}, "check web.kagi_key"},
		{"kagi", served{status: 402, file: "kagi-quota.json"}, "no credit left"},
		{"kagi", served{status: 200, file: "page.html"}, "no list of results"},
		{"duckduckgo", served{status: 202, file: "duckduckgo-challenge.html"}, "try again in an hour"},
		{"duckduckgo", served{status: 200, file: "duckduckgo-challenge.html"}, "try again in an hour"},
		{"duckduckgo", served{status: 403}, "try again in an hour"},
		{"duckduckgo", served{status: 200, file: "page.html"}, "a page of another form"},
		{"duckduckgo", served{status: 500}, "HTTP 500"},
	}
	for _, c := range cases {
		got, err := find(t, c.provider, serve(t, c.served), "weather", 5)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), testKey) {
			t.Errorf("%s %d %s: %v, %v; want %q", c.provider, c.status, c.file, got, err, c.want)
		}
	}
	for _, file := range []string{"brave-empty.json", "tavily-empty.json", "exa-empty.json", "kagi-empty.json", "duckduckgo-empty.html"} {
		provider, _, _ := strings.Cut(file, "-")
		if got, err := find(t, provider, serve(t, served{status: 200, file: file}), "xqzzyv", 5); err != nil || len(got) != 0 {
			t.Errorf("%s: %v, %v", file, got, err)
		}
	}
}

// TestSearch_unreachable checks what is said of a provider that does not answer, or not as HTTP.
func TestSearch_unreachable(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	hangs := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then the server notices that the client has gone
		<-r.Context().Done()
	}))
	t.Cleanup(hangs.Close)
	for name := range providers("") {
		if _, err := find(t, name, gone.URL, "weather", 5); err == nil || !strings.Contains(err.Error(), "no connection can be made") {
			t.Errorf("%s: %v", name, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		gate := egress.New(egress.Options{AllowPrivate: true})
		_, err := providers(hangs.URL)[name].Search(ctx, gate.Client(), "weather", 5)
		cancel()
		if err == nil || !strings.Contains(err.Error(), "no answer came in time") {
			t.Errorf("%s: %v", name, err)
		}
		private := egress.New(egress.Options{})
		if _, err := providers(hangs.URL)[name].Search(t.Context(), private.Client(), "weather", 5); err == nil ||
			!strings.Contains(err.Error(), "private network") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
