package web

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Brave searches with the API of Brave Search.
type Brave struct {
	Key string
	URL string // of the API; empty: Brave's own
}

var _ Provider = Brave{}

// Addresses of the providers.
const (
	BraveURL      = "https://api.search.brave.com"
	TavilyURL     = "https://api.tavily.com"
	ExaURL        = "https://api.exa.ai"
	KagiURL       = "https://kagi.com"
	DuckDuckGoURL = "https://html.duckduckgo.com"
)

// Name returns Brave.
func (Brave) Name() string { return "Brave" }

// mostBrave is the largest number of results that Brave gives.
const mostBrave = 20

// Search implements Provider.
func (b Brave) Search(ctx context.Context, client *http.Client, query string, limit int) ([]Result, error) {
	s := service{name: b.Name(), setting: "web.brave_key", key: b.Key, account: "api-dashboard.search.brave.com"}
	params := url.Values{"q": {query}, "count": {strconv.Itoa(min(limit, mostBrave))}, "text_decorations": {"false"}}
	req, err := get(ctx, cmp.Or(b.URL, BraveURL)+"/res/v1/web/search?"+params.Encode())
	if err != nil {
		return nil, err
	}
	req.Header.Set("X-Subscription-Token", b.Key)
	a, err := ask(ctx, client, s.name, s.key, req)
	if err != nil {
		return nil, err
	}
	if a.status == http.StatusUnprocessableEntity && wrongToken(a.body) {
		return nil, s.refused()
	}
	var out struct {
		Web struct {
			Results []struct {
				Title, URL, Description string
				PageAge                 string `json:"page_age"`
			}
		}
	}
	if err := s.decode(a, &out); err != nil {
		return nil, err
	}
	var found []Result
	for _, r := range out.Web.Results {
		found = append(found, Result{Title: r.Title, URL: r.URL, Date: r.PageAge, Excerpt: r.Description})
	}
	return tidied(found, limit), nil
}

// wrongToken reports whether an error is about the key: Brave has one status for that and for other mistakes.
func wrongToken(body []byte) bool {
	type fault struct{ Code string }
	var said struct {
		Error  fault
		Errors []fault
	}
	return json.Unmarshal(body, &said) == nil && slices.ContainsFunc(append(said.Errors, said.Error),
		func(f fault) bool { return strings.HasPrefix(f.Code, "SUBSCRIPTION_TOKEN") })
}
