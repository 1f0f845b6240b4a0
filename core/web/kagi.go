package web

import (
	"cmp"
	"context"
	"net/http"
)

// Kagi searches with the API of Kagi.
type Kagi struct {
	Key string
	URL string // of the API; empty: Kagi's own
}

var _ Provider = Kagi{}

// Name returns Kagi.
func (Kagi) Name() string { return "Kagi" }

// mostKagi is the largest number of results that is asked for.
const mostKagi = 20

// Search implements Provider.
func (k Kagi) Search(ctx context.Context, client *http.Client, query string, limit int) ([]Result, error) {
	s := service{name: k.Name(), setting: "web.kagi_key", key: k.Key, account: "kagi.com/settings/api"}
	req, err := post(ctx, cmp.Or(k.URL, KagiURL)+"/api/v1/search", map[string]any{"query": query, "workflow": "search",
		"limit": min(limit, mostKagi)})
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+k.Key)
	a, err := ask(ctx, client, s.name, s.key, req)
	if err != nil {
		return nil, err
	}
	var out struct {
		Data struct {
			Search []struct {
				Title, URL, Snippet, Time string
			}
		}
	}
	if err := s.decode(a, &out); err != nil {
		return nil, err
	}
	var found []Result
	for _, r := range out.Data.Search {
		found = append(found, Result{Title: r.Title, URL: r.URL, Date: r.Time, Excerpt: r.Snippet})
	}
	return tidied(found, limit), nil
}
