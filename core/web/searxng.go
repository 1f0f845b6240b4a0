package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// SearXNG searches with a SearXNG server.
type SearXNG struct {
	URL string // of the server
}

var _ Provider = SearXNG{}

// Name returns SearXNG with its host.
func (s SearXNG) Name() string {
	u, err := url.Parse(s.URL)
	if err != nil || u.Host == "" {
		return "SearXNG"
	}
	return "SearXNG at " + u.Host
}

// Search implements Provider.
func (s SearXNG) Search(ctx context.Context, client *http.Client, query string, limit int) ([]Result, error) {
	req, err := get(ctx, strings.TrimRight(s.URL, "/")+"/search?"+url.Values{"q": {query}, "format": {"json"}}.Encode())
	if err != nil {
		return nil, fmt.Errorf("web.searxng_url is no address")
	}
	a, err := ask(ctx, client, s.Name(), "", req)
	if err != nil {
		return nil, err
	}
	switch {
	case a.status == http.StatusForbidden:
		return nil, fmt.Errorf("%s gives no JSON; add json to search.formats in its settings.yml", s.Name())
	case a.status == http.StatusTooManyRequests:
		return nil, fmt.Errorf("%s limits searches; %s, or turn off server.limiter in its settings.yml", s.Name(), again(a))
	case a.status != http.StatusOK:
		return nil, fmt.Errorf("%s answers with HTTP %d; check web.searxng_url and the server's log", s.Name(), a.status)
	}
	var out struct {
		Results []struct {
			URL, Title, Content string
			PublishedDate       string
		}
		Unresponsive [][]any `json:"unresponsive_engines"`
	}
	if err := json.Unmarshal(a.body, &out); err != nil {
		return nil, fmt.Errorf("%s answers with a page instead of JSON; check that web.searxng_url is the server itself, and add json to search.formats in its settings.yml", s.Name())
	}
	if len(out.Results) == 0 && len(out.Unresponsive) > 0 {
		return nil, fmt.Errorf("%s got no answer from its search engines; its page of statistics shows why", s.Name())
	}
	var found []Result
	for _, r := range out.Results {
		found = append(found, Result{Title: r.Title, URL: r.URL, Date: r.PublishedDate, Excerpt: r.Content})
	}
	return tidied(found, limit), nil
}
