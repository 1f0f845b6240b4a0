package web

import (
	"context"
	"html"
	"regexp"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/trust/egress"
)

// Search searches the web for a user.
func (w *Web) Search(ctx context.Context, user core.UserID, query string, limit int) ([]Result, error) {
	return w.Provider.Search(egress.For(ctx, user), w.Searching, query, limit)
}

// Bounds of one result, in bytes.
const (
	longestTitle   = 200
	longestExcerpt = 500
)

// tag is markup in the title or the excerpt of a result.
var tag = regexp.MustCompile(`</?(?:b|strong|em|i|mark|span|br|p)(?:\s[^<>]*)?/?>`)

// tidied returns at most limit results with a title and an address that can be read, without markup, each address once.
func tidied(results []Result, limit int) []Result {
	out := make([]Result, 0, min(len(results), limit))
	seen := map[string]bool{}
	for _, r := range results {
		address, err := Normal(r.URL)
		if err != nil || seen[address] || len(out) == limit {
			continue
		}
		seen[address] = true
		r.URL, r.Title, r.Excerpt, r.Date = address, plain(r.Title, longestTitle), plain(r.Excerpt, longestExcerpt), date(r.Date)
		if r.Title == "" {
			r.Title = address
		}
		out = append(out, r)
	}
	return out
}

// plain returns a text of a provider in one line, without markup, of at most n bytes.
func plain(s string, n int) string {
	s = html.UnescapeString(tag.ReplaceAllString(s, ""))
	return clip(strings.Join(strings.Fields(strings.ToValidUTF8(s, "")), " "), n)
}

// date returns the day of a time as providers write it; empty: there is none.
func date(s string) string {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", time.DateOnly, time.RFC1123, time.RFC1123Z,
		"2006-01-02 15:04:05"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.Format(time.DateOnly)
		}
	}
	return ""
}

// clip shortens a text to about n bytes, between words if it can.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	s = strings.ToValidUTF8(s[:n], "")
	if space := strings.LastIndexByte(s, ' '); space > n*3/4 {
		s = s[:space]
	}
	return s + "…"
}
