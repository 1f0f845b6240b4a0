package web

import (
	"cmp"
	"context"
	"net/http"
	"strings"
)

// Exa searches with the API of Exa.
type Exa struct {
	Key string
	URL string // of the API; empty: Exa's own
}

var _ Provider = Exa{}

// Name returns Exa.
func (Exa) Name() string { return "Exa" }

// mostExa bounds the results that are paid for.
const mostExa = 20

// Search implements Provider.
func (e Exa) Search(ctx context.Context, client *http.Client, query string, limit int) ([]Result, error) {
	s := service{name: e.Name(), setting: "web.exa_key", key: e.Key, account: "dashboard.exa.ai"}
	req, err := post(ctx, cmp.Or(e.URL, ExaURL)+"/search", map[string]any{"query": query, "numResults": min(limit, mostExa),
		"type": "auto", "contents": map[string]any{"highlights": true}})
	if err != nil {
		return nil, err
	}
	req.Header.Set("X-Api-Key", e.Key)
	a, err := ask(ctx, client, s.name, s.key, req)
	if err != nil {
		return nil, err
	}
	var out struct {
		Results []struct {
			Title, URL    string
			PublishedDate string
			Highlights    []string
			Text          string
		}
	}
	if err := s.decode(a, &out); err != nil {
		return nil, err
	}
	var found []Result
	for _, r := range out.Results {
		excerpt := strings.Join(r.Highlights, " … ")
		if excerpt == "" {
			excerpt = r.Text
		}
		found = append(found, Result{Title: r.Title, URL: r.URL, Date: r.PublishedDate, Excerpt: excerpt})
	}
	return tidied(found, limit), nil
}
