package web

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
)

// Tavily searches with the API of Tavily.
type Tavily struct {
	Key string
	URL string // of the API; empty: Tavily's own
}

var _ Provider = Tavily{}

// Name returns Tavily.
func (Tavily) Name() string { return "Tavily" }

// Statuses of Tavily for a plan, or a limit set by its customer, that is used up.
const (
	planUsed  = 432
	limitUsed = 433
)

// mostTavily is the largest number of results that Tavily gives.
const mostTavily = 20

// Search implements Provider.
func (t Tavily) Search(ctx context.Context, client *http.Client, query string, limit int) ([]Result, error) {
	s := service{name: t.Name(), setting: "web.tavily_key", key: t.Key, account: "app.tavily.com"}
	req, err := post(ctx, cmp.Or(t.URL, TavilyURL)+"/search", map[string]any{"query": query, "max_results": min(limit, mostTavily),
		"search_depth": "basic"})
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+t.Key)
	a, err := ask(ctx, client, s.name, s.key, req)
	if err != nil {
		return nil, err
	}
	if a.status == planUsed || a.status == limitUsed {
		return nil, fmt.Errorf("the searches of this Tavily plan are used up; raise it at %s, or set another provider in web.search",
			s.account)
	}
	var out struct {
		Results []struct {
			Title, URL, Content string
			Published           string `json:"published_date"`
		}
	}
	if err := s.decode(a, &out); err != nil {
		return nil, err
	}
	var found []Result
	for _, r := range out.Results {
		found = append(found, Result{Title: r.Title, URL: r.URL, Date: r.Published, Excerpt: r.Content})
	}
	return tidied(found, limit), nil
}
