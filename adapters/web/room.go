package web

import (
	"context"
	"io/fs"
	"slices"
	"strings"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/trust"
)

// Room is a part of the page: routes, and what they are shown with.
type Room interface {
	// Name is what the templates of the room call its words by: (name).Title.
	Name() string
	// Words returns the words of the room in a language.
	Words(lang string) any
	// Files holds templates/*.html, a page each, templates/parts/*.html, what stands in
	// pages of any room, and static/*, what is served beside them. Names are of all rooms.
	Files() fs.FS
	Routes() []Route
}

// ResumingRoom is an optional interface of rooms that finish what a process before left.
type ResumingRoom interface {
	// Resume returns when all is done, or ctx ends.
	Resume(ctx context.Context)
}

// Route is one page or action.
type Route struct {
	Pattern string // of http.ServeMux
	Serve   func(v *Visit) error
	Open    bool            // for everybody, signed in or not
	Owner   bool            // for the owner only; others do not find it
	Needs   core.Capability // of the visitor; see Needing
	Body    int64           // largest body, in bytes; 0: it is a form, and read
	Tab     *Tab            // nil: the navigation does not lead here
}

// Tab is how the navigation leads to a route. Its address is the route's, which has one
// segment at most, and it is marked on all pages below that.
type Tab struct {
	Name   func(lang string) string
	Holds  []string // what addresses begin with that it is marked on, too
	InMenu bool     // where there is little room it stands in the menu
}

// Needing returns the routes of an area with what each needs: what changes
// something the capability of the area, what only shows CanRead, what is the
// owner's CanAdmin.
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

// Needs lists what each page and action needs. A session of a person has all but
// CanAdmin, which is the owner's.
func Needs(rooms ...Room) []trust.Need {
	var out []trust.Need
	for _, r := range routes(rooms) {
		out = append(out, trust.Need{Door: trust.DoorPage, What: r.Pattern, Capability: r.Needs})
	}
	return out
}

// routes are all pages and actions.
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

// holds reports whether a page belongs to the entry.
func (t linkedTab) holds(page string) bool {
	return page == t.Path || t.Path != "/" && strings.HasPrefix(page, t.Path+"/") ||
		slices.ContainsFunc(t.Holds, func(begin string) bool { return strings.HasPrefix(page, begin) })
}
