//go:build e2e

package web

import (
	"strings"
	"testing"

	"github.com/everthread/everthread/e2e/e2etest"
)

// A search is narrowed, read, opened in place, and restored by going back.
func TestSearch_narrowedAndRestored(t *testing.T) {
	v := newVisitor(t, "")
	v.Look(360, "light", "en")
	v.Send("https://example.org/" + strings.Repeat("x", 150)) // stands beside the hit
	v.Sees(".entry.agent", "example.org")
	v.Send("Where does the **ferry** to Groix leave?")
	v.Sees(".entry.agent", "ferry")
	v.Open("/search")
	v.Fill("#q", "ferries")
	v.Press(".search", "Go")
	v.Sees(".hit mark", "ferry")
	v.Press("main", "Filters")
	v.Comes("(document.querySelector('#f-who').value = 'me') && (document.querySelector('#f-kind').value = 'message')")
	v.Press(".search", "Go")
	v.Sees("main h2", "1 result")
	v.Sees(".hit-head", "You")
	v.Sees(".hit .beside", "example.org")
	v.Comes("location.search.includes('who=me')")
	if !v.Is("document.documentElement.scrollWidth <= 360") {
		t.Errorf("the page is too wide:\n%s", v.Shown())
	}
	v.Press(".hit", "Why was this found?")
	v.Sees(".why-found", "score")
	v.Press(".hit-foot", "Open")
	v.Sees(".entry.found", "Where does the")
	e2etest.Js[bool](v.Tab, "setTimeout(() => history.back()) > 0")
	v.Comes("location.pathname === '/search'")
	v.Sees("main h2", "1 result")
	if !v.Is("document.querySelector('#f-who').value === 'me'") {
		t.Error("the filter is gone")
	}
	v.Open("/search?q=zeppelin&who=me")
	v.Sees(".empty", "Nothing that matches your filters")
	v.Press(".empty", "Search everything")
	v.Sees(".empty", "fewer or other words")
}
