package web

import (
	"embed"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"path"
	"strings"
	"sync"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/words"
)

//go:embed templates static
var files embed.FS

// sources are where templates and static files come from: the shell and its rooms.
func sources(rooms []Room) []fs.FS {
	all := []fs.FS{files}
	for _, room := range rooms {
		all = append(all, room.Files())
	}
	return all
}

// views are the templates of all pages, in each language. Each is parsed when it is
// first shown: a process that serves nobody needs none.
type views struct {
	pages map[string]map[string]parsed // by language, then name
	parts map[string]parsed            // by language: what stands in pages
}

// parsed is a template, parsed by the first call.
type parsed = func() (*template.Template, error)

func newViews(c *Channel) (*views, error) {
	v := &views{pages: map[string]map[string]parsed{}, parts: map[string]parsed{}}
	for _, lang := range words.Languages() {
		// What was shown once can no longer be cloned, so nobody shows the base.
		base := sync.OnceValues(func() (*template.Template, error) { return c.parts(lang) })
		v.parts[lang] = sync.OnceValues(func() (*template.Template, error) { return onto(base) })
		var err error
		if v.pages[lang], err = c.pages(base); err != nil {
			return nil, fmt.Errorf("web: read templates: %w", err)
		}
	}
	return v, nil
}

// parts are what stands in pages, of the shell and all rooms.
func (c *Channel) parts(lang string) (*template.Template, error) {
	base := template.New("base").Funcs(c.funcs(lang))
	for _, from := range sources(c.Rooms) {
		if _, err := base.ParseFS(from, "templates/parts/*.html"); err != nil {
			return nil, err
		}
	}
	return base, nil
}

// pages are the pages that stand on a layout, by name.
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

// onto is a copy of a template, for something to stand on it.
func onto(base parsed) (*template.Template, error) {
	t, err := base()
	if err != nil {
		return nil, err
	}
	return t.Clone()
}

// coded is plain text in which `words between backticks` are code.
func coded(text string) template.HTML {
	var b strings.Builder
	for n, part := range strings.Split(text, "`") {
		part = template.HTMLEscapeString(part)
		switch {
		case n%2 == 0:
			b.WriteString(part)
		case n == strings.Count(text, "`"): // nothing closes it
			b.WriteString("`" + part)
		default:
			b.WriteString("<code>" + part + "</code>")
		}
	}
	return template.HTML(b.String()) //nolint:gosec // all of it is escaped
}

// funcs are what templates may call.
func (c *Channel) funcs(lang string) template.FuncMap {
	all := template.FuncMap{
		"t":      func() *Texts { return say(lang) },
		"asset":  c.assets.path,
		"fill":   fmt.Sprintf,
		"number": func(n int) string { return words.Number(lang, n) },
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

// dict makes a map of pairs, for parts that take several values.
func dict(pairs ...any) (map[string]any, error) {
	out := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		name, ok := pairs[i].(string)
		if !ok {
			return nil, fmt.Errorf("%v is no name", pairs[i])
		}
		out[name] = pairs[i+1]
	}
	return out, nil
}

// shell is what the layout knows.
type shell struct {
	Title, Lang, Theme, Path string
	Toast                    string
	Colours                  []string // of the browser's own parts: light and dark, or the one that was chosen
	User                     core.User
	Signed                   bool
	Tabs                     []shownTab
	Page                     any
}

// Empty is what stands where nothing is, as the part "empty" shows it.
type Empty struct {
	Title, Hint string
	Link, Label string
}

type shownTab struct {
	Path, Name string
	Here       bool
	InMenu     bool
}

// Execute writes a page, or its inside if that is asked for.
func (v *Visit) Execute(w io.Writer, name, title string, data any) error {
	page := v.channel.views.pages[v.Lang][name]
	if page == nil {
		return fmt.Errorf("there is no page %s", name)
	}
	t, err := page()
	if err != nil {
		return fmt.Errorf("parse %s: %w", name, err)
	}
	all := shell{Title: title, Lang: v.Lang, Theme: v.theme(), Path: v.R.URL.RequestURI(), User: v.User,
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
		all.Toast, all.Tabs = v.toast(), v.tabs()
	}
	if err := t.ExecuteTemplate(w, part, all); err != nil {
		return fmt.Errorf("render %s: %w", name, err)
	}
	return nil
}

// tabs is the navigation as the visitor sees it.
func (v *Visit) tabs() []shownTab {
	var out []shownTab
	for _, t := range v.channel.linkedTab {
		if v.User.ID == 0 || t.Owner && v.User.Role != core.RoleOwner {
			continue
		}
		out = append(out, shownTab{t.Path, t.Name(v.Lang), t.holds(v.R.URL.Path), t.InMenu})
	}
	return out
}

// Part renders something that stands in pages.
func (v *Visit) Part(name string, data any) (template.HTML, error) {
	parts, err := v.channel.views.parts[v.Lang]()
	if err != nil {
		return "", fmt.Errorf("parse %s: %w", name, err)
	}
	var b strings.Builder
	if err := parts.ExecuteTemplate(&b, name, data); err != nil {
		return "", fmt.Errorf("render %s: %w", name, err)
	}
	return template.HTML(b.String()), nil
}
