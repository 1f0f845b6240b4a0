package web

import (
	"context"
	"io/fs"
	"slices"
	"strings"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/trust"
)

// Room is a part of the page: routes with their templates, texts and static files.
type Room interface {
	// Name returns the template function that returns the room's texts: (name).Title.
	Name() string
	// Words returns the room's texts in a language.
	Words(lang string) any
	// Files holds templates/*.html, one page each, templates/parts/*.html, parts for the
	// pages of all rooms, and static/*, static files. Names are unique across rooms.
	Files() fs.FS
	Routes() []Route
}

// ResumingRoom is an optional interface of rooms that finish the work of an earlier process.
type ResumingRoom interface {
	// Resume returns when the work is done or ctx ends.
	Resume(ctx context.Context)
}

// Route is one page or action.
type Route struct {
	Pattern string // for http.ServeMux
	Serve   func(v *Visit) error
	Open    bool            // for visitors who are not signed in, too
	Owner   bool            // for the owner only; others get core.ErrNotFound
	Needs   core.Capability // required of the visitor; see Needing
	Body    int64           // largest body, in bytes; 0: a form, which is parsed before Serve
	Tab     *Tab            // nil: not in the navigation
}

// Tab is the navigation's entry for a route. The route's path has at most one segment,
// and the entry is marked as current on all pages below it.
type Tab struct {
	Name   func(lang string) string
	Holds  []string // prefixes of further paths on which it is marked
	InMenu bool     // it moves into the menu on narrow screens
}

// Needing returns the routes of an area with the capability that each needs: routes that
// change something need that of the area, those that only read CanRead, and the owner's
// CanAdmin.
func Needing(area core.Capability, all ...Route) []Route {
	for i := range all {
		switch r := &all[i]; {
		case r.Open:
			r.Needs = trust.Open
		case r.Owner:
			r.Needs = core.CanAdmin
		case area == core.CanTalk && strings.HasPrefix(r.Pattern, "GET "):
			r.Needs = core.CanRead
		default:
			r.Needs = area
		}
	}
	return all
}

// Needs lists the capability that each page and action needs. A session has all of them
// but CanAdmin, which only the owner's has.
func Needs(rooms ...Room) []trust.Need {
	var out []trust.Need
	for _, r := range routes(rooms) {
		out = append(out, trust.Need{Door: trust.DoorPage, What: r.Pattern, Capability: r.Needs})
	}
	return out
}

// routes returns all pages and actions.
func routes(rooms []Room) []Route {
	all := Needing(core.CanAccount, append(signInRoutes(), installRoutes()...)...)
	for _, room := range rooms {
		all = append(all, room.Routes()...)
	}
	return all
}

// linkedTab is an entry of the navigation.
type linkedTab struct {
	*Tab
	Path  string
	Owner bool
}

func tabs(all []Route) []linkedTab {
	var out []linkedTab
	for _, r := range all {
		if r.Tab != nil {
			path := strings.TrimSuffix(strings.TrimPrefix(r.Pattern, "GET "), "{$}")
			out = append(out, linkedTab{r.Tab, path, r.Owner})
		}
	}
	return out
}

// holds reports whether the entry is marked on a page.
func (t linkedTab) holds(page string) bool {
	return page == t.Path || t.Path != "/" && strings.HasPrefix(page, t.Path+"/") ||
		slices.ContainsFunc(t.Holds, func(begin string) bool { return strings.HasPrefix(page, begin) })
}
