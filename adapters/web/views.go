package web

import (
	"context"
	"embed"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/text"
	"github.com/everthread/everthread/core/text/i18n"
	"github.com/everthread/everthread/core/trust"
)

//go:embed templates static
var files embed.FS

func sources(rooms []Room) []fs.FS {
	all := []fs.FS{files}
	for _, room := range rooms {
		all = append(all, room.Files())
	}
	return all
}

// views are the templates of all pages, in each language. Each is parsed when it is first shown.
type views struct {
	pages map[string]map[string]parsed // by language, then name
	parts map[string]parsed            // parts of pages, by language
}

// parsed returns a template, which the first call parses.
type parsed = func() (*template.Template, error)

func newViews(c *Channel) (*views, error) {
	v := &views{pages: map[string]map[string]parsed{}, parts: map[string]parsed{}}
	for _, lang := range i18n.Languages() {
		// An executed template cannot be cloned, so the base is never executed.
		base := sync.OnceValues(func() (*template.Template, error) { return c.parts(lang) })
		v.parts[lang] = sync.OnceValues(func() (*template.Template, error) { return onto(base) })
		var err error
		if v.pages[lang], err = c.pages(base); err != nil {
			return nil, fmt.Errorf("web: read templates: %w", err)
		}
	}
	return v, nil
}

// parts returns the parts of pages, of the shell and all rooms.
func (c *Channel) parts(lang string) (*template.Template, error) {
	base := template.New("base").Funcs(c.funcs(lang))
	for _, from := range sources(c.Rooms) {
		if _, err := base.ParseFS(from, "templates/parts/*.html"); err != nil {
			return nil, err
		}
	}
	return base, nil
}

// pages returns the pages by name, each based on the layout.
func (c *Channel) pages(base parsed) (map[string]parsed, error) {
	out := map[string]parsed{}
	for _, from := range sources(c.Rooms) {
		all, err := fs.Glob(from, "templates/*.html")
		if err != nil {
			return nil, err
		}
		for _, file := range all {
			name := strings.TrimSuffix(path.Base(file), ".html")
			if out[name] != nil {
				return nil, fmt.Errorf("there are two pages %s", name)
			}
			out[name] = sync.OnceValues(func() (*template.Template, error) {
				t, err := onto(base)
				if err != nil {
					return nil, err
				}
				return t.ParseFS(from, file)
			})
		}
	}
	return out, nil
}

// onto returns a copy of a template to which others can be added.
func onto(base parsed) (*template.Template, error) {
	t, err := base()
	if err != nil {
		return nil, err
	}
	return t.Clone()
}

// coded returns a text as HTML, with `words between backticks` as code.
func coded(text string) template.HTML {
	var b strings.Builder
	for n, part := range strings.Split(text, "`") {
		part = template.HTMLEscapeString(part)
		switch {
		case n%2 == 0:
			b.WriteString(part)
		case n == strings.Count(text, "`"): // not closed
			b.WriteString("`" + part)
		default:
			b.WriteString("<code>" + part + "</code>")
		}
	}
	return template.HTML(b.String()) //nolint:gosec // all of it is escaped
}

func (c *Channel) funcs(lang string) template.FuncMap {
	all := template.FuncMap{
		"t":      func() *Texts { return say(lang) },
		"asset":  c.assets.path,
		"fill":   fmt.Sprintf,
		"number": func(n int) string { return i18n.Number(lang, n) },
		"size":   func(n int64) string { return Size(lang, n) },
		"list":   func(all ...any) []any { return all },
		"coded":  coded,
		"dict":   dict,
	}
	for _, room := range c.Rooms {
		all[room.Name()] = func() any { return room.Words(lang) }
	}
	return all
}

// dict returns a map of pairs, for parts that take several values.
func dict(pairs ...any) (map[string]any, error) {
	out := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		name, ok := pairs[i].(string)
		if !ok {
			return nil, fmt.Errorf("%v is not a name", pairs[i])
		}
		out[name] = pairs[i+1]
	}
	return out, nil
}

type shell struct {
	Title, Lang, Theme, Path, Toast string
	Root                            string   // path below which the visitor reaches the site; empty: none
	Colours                         []string // of the browser's own parts: light and dark, or the chosen one
	User                            core.User
	Signed                          bool
	Tabs                            []shownTab
	Page                            any
}

// Empty is the hint of an empty list, shown by the part "empty".
type Empty struct {
	Title, Hint, Link, Label string
}

type shownTab struct {
	Path, Name   string
	Key          string
	Here, InMenu bool
	Count        int
	Waits        string // what is counted
}

// Execute renders a page, or only its main part if the script requests that.
func (v *Visit) Execute(w io.Writer, name, title string, data any) error {
	page := v.channel.views.pages[v.Lang][name]
	if page == nil {
		return fmt.Errorf("there is no page %s", name)
	}
	t, err := page()
	if err != nil {
		return fmt.Errorf("parse %s: %w", name, err)
	}
	all := shell{Title: title, Lang: v.Lang, Theme: v.theme(), Path: v.R.URL.RequestURI(), Root: v.root, User: v.User,
		Signed: v.User.ID != 0, Page: data, Colours: []string{paperLight, paperDark}}
	switch all.Theme {
	case "light":
		all.Colours = []string{paperLight}
	case "dark":
		all.Colours = []string{paperDark}
	}
	if v.R.Method != "GET" {
		all.Path = "/"
	}
	part := "layout"
	if v.wantsPart() {
		part = "main"
	} else {
		all.Toast = v.toast()
		if all.Tabs, err = v.tabs(); err != nil {
			return err
		}
	}
	var b strings.Builder
	if err := t.ExecuteTemplate(&b, part, all); err != nil {
		return fmt.Errorf("render %s: %w", name, err)
	}
	_, err = io.WriteString(w, v.own(b.String()))
	return err
}

// own makes HTML the visitor's own: links that begin with the path below which they reach the site, and forms that name
// them.
func (v *Visit) own(html string) string { return v.rooted(v.owned(html)) }

// linking are the attributes whose values are paths of this site. In a text, a quotation mark is always escaped.
var linking = text.Pattern(` (href|src|action|data-live|data-calendar|data-arrives|data-draft|data-math|data-math-style)="/`)

func (v *Visit) rooted(html string) string {
	if v.root == "" {
		return html
	}
	return linking().ReplaceAllString(html, "${0}"+v.root[1:]+"/")
}

// accountField is the field of each form that names the user for whom the page was made. Another user may have signed
// in to the same browser since: nothing of the former is stored as theirs.
const accountField = "account"

const hiddenField = `<input type="hidden" name="%s" value="%d">`

var postForm = text.Pattern(`<form method="post"[^>]*>`)

// owned adds the account field to all forms of a page.
func (v *Visit) owned(html string) string {
	if v.User.ID == 0 {
		return html
	}
	field := fmt.Sprintf(hiddenField, accountField, v.User.ID)
	return postForm().ReplaceAllString(html, "${0}"+field)
}

// Owned returns why a form is refused that was made for another user, given its field account; nil: it is the visitor's.
func (v *Visit) Owned(account string) error {
	if account == "" || v.User.ID == 0 || account == strconv.FormatInt(int64(v.User.ID), 10) {
		return nil
	}
	return Because(http.StatusConflict, v.Words.ErrAccount)
}

func (v *Visit) tabs() ([]shownTab, error) {
	var out []shownTab
	for _, t := range v.channel.linkedTab {
		if v.User.ID == 0 || t.Owner && v.User.Role != core.RoleOwner {
			continue
		}
		one := shownTab{Path: t.Path, Name: t.Name(v.Lang), Key: t.Key, Here: t.holds(v.R.URL.Path), InMenu: t.InMenu}
		if t.Waits != nil {
			var err error
			if one.Count, one.Waits, err = t.Waits(v); err != nil {
				return nil, err
			}
		}
		out = append(out, one)
	}
	return out, nil
}

// Counts returns the names in the navigation that have a count, as HTML and by path.
func (v *Visit) Counts() (map[string]template.HTML, error) {
	all, err := v.tabs()
	out := map[string]template.HTML{}
	for _, one := range all {
		if err == nil && one.Waits != "" {
			out[v.root+one.Path], err = v.Part("tab", one)
		}
	}
	return out, err
}

// Part renders a part of pages.
func (v *Visit) Part(name string, data any) (template.HTML, error) {
	parts, err := v.channel.views.parts[v.Lang]()
	if err != nil {
		return "", fmt.Errorf("parse %s: %w", name, err)
	}
	var b strings.Builder
	if err := parts.ExecuteTemplate(&b, name, data); err != nil {
		return "", fmt.Errorf("render %s: %w", name, err)
	}
	return template.HTML(v.own(b.String())), nil
}

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
	Key    string   // of the shortcut that opens it
	Holds  []string // prefixes of further paths on which it is marked
	InMenu bool     // it moves into the menu on narrow screens
	// Waits counts what waits for the visitor there, and says what that is; nil: nothing ever does.
	Waits func(v *Visit) (n int, what string, err error)
}

// Needing returns the routes of an area with the capability that each needs: routes that change something need that of
// the area, those that only read CanRead, and the owner's CanAdmin.
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

func routes(rooms []Room) []Route {
	all := Needing(core.CanAccount, append(signInRoutes(), installRoutes()...)...)
	for _, room := range rooms {
		all = append(all, room.Routes()...)
	}
	return all
}

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

func (t linkedTab) holds(page string) bool {
	return page == t.Path || t.Path != "/" && strings.HasPrefix(page, t.Path+"/") ||
		slices.ContainsFunc(t.Holds, func(begin string) bool { return strings.HasPrefix(page, begin) })
}
