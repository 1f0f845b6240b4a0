package web

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// DuckDuckGo searches with the page of DuckDuckGo for browsers without script, which needs no key.
type DuckDuckGo struct {
	URL string // empty: DuckDuckGo's own
}

var _ Provider = DuckDuckGo{}

// Name returns DuckDuckGo.
func (DuckDuckGo) Name() string { return "DuckDuckGo" }

// errChallenged means that DuckDuckGo wants to see a person.
var errChallenged = errors.New("DuckDuckGo asks whether a person is searching, and answers no more searches from here for a while; try again in an hour, or set up a provider with a key, or a SearXNG server, in web")

// Search implements Provider.
func (d DuckDuckGo) Search(ctx context.Context, client *http.Client, query string, limit int) ([]Result, error) {
	req, err := get(ctx, cmp.Or(d.URL, DuckDuckGoURL)+"/html/?"+url.Values{"q": {query}}.Encode())
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "text/html")
	a, err := ask(ctx, client, d.Name(), "", req)
	if err != nil {
		return nil, err
	}
	doc, err := html.Parse(bytes.NewReader(a.body))
	if err != nil {
		return nil, fmt.Errorf("DuckDuckGo answered with a page that cannot be read")
	}
	challenged := first(doc, func(n *html.Node) bool {
		return attribute(n, "id") == "challenge-form" || strings.Contains(attribute(n, "class"), "anomaly-modal")
	}) != nil
	switch {
	case challenged || a.status == http.StatusForbidden || a.status == http.StatusTooManyRequests:
		return nil, errChallenged
	case a.status != http.StatusOK:
		return nil, fmt.Errorf("DuckDuckGo answered with HTTP %d; try again later", a.status)
	}
	results := all(doc, func(n *html.Node) bool { return hasClass(n, "result") })
	if len(results) == 0 && first(doc, func(n *html.Node) bool { return hasClass(n, "results") || attribute(n, "id") == "links" }) == nil {
		return nil, errors.New("DuckDuckGo answered with a page of another form; set up a provider with a key, or a SearXNG server, in web")
	}
	var found []Result
	for _, r := range results {
		link := first(r, func(n *html.Node) bool { return n.DataAtom == atom.A && hasClass(n, "result__a") })
		if link == nil || hasClass(r, "result--ad") {
			continue
		}
		excerpt := first(r, func(n *html.Node) bool { return hasClass(n, "result__snippet") })
		found = append(found, Result{Title: words(link), URL: behind(attribute(link, "href")), Excerpt: words(excerpt)})
	}
	return tidied(found, limit), nil
}

// behind returns the address that a link of DuckDuckGo leads to.
func behind(href string) string {
	u, err := url.Parse(href)
	if err != nil {
		return ""
	}
	if target := u.Query().Get("uddg"); target != "" && strings.HasSuffix(u.Hostname(), "duckduckgo.com") {
		return target
	}
	return href
}
