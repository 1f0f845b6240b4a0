package engine

import (
	"context"
	"errors"
	"strings"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/files/document"
	"github.com/everthread/everthread/core/trust/egress"
	"github.com/everthread/everthread/core/web"
)

// newWeb returns what searches and reads the web; nil: it is off.
func (e *Engine) newWeb() *web.Web {
	provider, reach := SearchProvider(e.Config.Web)
	if provider == nil {
		return nil
	}
	o := web.Options{Provider: provider, Searching: e.Way.Client(reach...), Reading: e.Way.Client(), Tokens: e.Tokens,
		ResultTokens: e.Config.Agent.ResultTokens, MaxFile: int64(e.Config.Media.MaxBytes)}
	if e.options.ReadDocument != nil {
		o.Documents = pages{e.documents.Reader}
	}
	return web.New(o)
}

// SearchProvider returns the configured provider of searches, and the addresses that the operator configured with it;
// nil: there is none.
func SearchProvider(c configs.Lookup) (p web.Provider, reach []string) {
	switch c.Provider() {
	case "searxng":
		return web.SearXNG{URL: c.SearXNGURL}, []string{c.SearXNGURL}
	case "brave":
		return web.Brave{Key: string(c.BraveKey)}, []string{web.BraveURL}
	case "tavily":
		return web.Tavily{Key: string(c.TavilyKey)}, []string{web.TavilyURL}
	case "exa":
		return web.Exa{Key: string(c.ExaKey)}, []string{web.ExaURL}
	case "kagi":
		return web.Kagi{Key: string(c.KagiKey)}, []string{web.KagiURL}
	case "duckduckgo":
		return web.DuckDuckGo{}, nil
	}
	return nil, nil
}

// TrySearch searches once with the configured provider, and returns its name; empty: the web is off.
func TrySearch(ctx context.Context, c configs.Config, way *egress.Gate) (name string, results int, err error) {
	p, reach := SearchProvider(c.Web)
	if p == nil {
		return "", 0, nil
	}
	found, err := p.Search(ctx, way.Client(reach...), "weather", 3)
	return p.Name(), len(found), err
}

// pages reads documents of the web with the reader of people's files.
type pages struct{ *document.Reader }

// Pages implements web.Documents.
func (p pages) Pages(ctx context.Context, name, media string, data []byte) ([]string, error) {
	var out []string
	_, err := p.Read(ctx, document.Source{Name: name, Media: media}, data, func(page document.Page) error {
		out = append(out, strings.TrimSpace(page.Title+"\n"+page.Text))
		return nil
	})
	if f, ok := errors.AsType[*document.Fault](err); ok {
		return out, errors.New((&core.Document{State: core.DocumentRead, Problem: f.Problem}).Note())
	}
	if err != nil {
		return nil, errors.New("the document could not be read in time")
	}
	return out, nil
}
