package web

import (
	"embed"
	"fmt"
	"html/template"
	"io"
	"path"
	"strings"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/words"
)

//go:embed templates/*.html
var sources embed.FS

// views are the templates of all pages, in each language.
type views struct {
	pages map[string]map[string]*template.Template // by language, then name
	parts map[string]*template.Template            // by language: what stands in pages
}

func newViews(c *Channel) (*views, error) {
	v := &views{pages: map[string]map[string]*template.Template{}, parts: map[string]*template.Template{}}
	for _, lang := range words.Languages() {
		base, err := template.New("base").Funcs(c.funcs(lang)).ParseFS(sources, "templates/layout.html",
			"templates/parts.html", "templates/entry.html", "templates/office.html")
		if err != nil {
			return nil, fmt.Errorf("web: read templates: %w", err)
		}
		if v.parts[lang], err = base.Clone(); err != nil {
			return nil, fmt.Errorf("web: read templates: %w", err)
		}
		if v.pages[lang], err = pagesOf(base); err != nil {
			return nil, fmt.Errorf("web: read templates: %w", err)
		}
	}
	return v, nil
}

// pagesOf are the pages that stand on a layout, by name.
func pagesOf(base *template.Template) (map[string]*template.Template, error) {
	all, err := sources.ReadDir("templates")
	if err != nil {
		return nil, err
	}
	out := map[string]*template.Template{}
	for _, f := range all {
		name := strings.TrimSuffix(f.Name(), path.Ext(f.Name()))
		if name == "layout" || name == "parts" || name == "entry" || name == "office" {
			continue
		}
		t, err := base.Clone()
		if err != nil {
			return nil, err
		}
		if out[name], err = t.ParseFS(sources, "templates/"+f.Name()); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// funcs are what templates may call.
func (c *Channel) funcs(lang string) template.FuncMap {
	return template.FuncMap{
		"t":      func() *texts { return say(lang) },
		"asset":  c.assets.path,
		"fill":   fmt.Sprintf,
		"number": func(n int) string { return words.Number(lang, n) },
		"size":   func(n int64) string { return size(lang, n) },
		"list":   func(all ...any) []any { return all },
		"dict":   dict,
	}
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
	User                     core.User
	Signed                   bool
	Tabs                     []shownTab
	Page                     any
}

type shownTab struct {
	Path, Name string
	Here       bool
	Office     bool // where there is little room it stands in the menu
}

// execute writes a page, or its inside if that is asked for.
func (s *views) execute(w io.Writer, v *visit, name, title string, data any) error {
	t := s.pages[v.lang][name]
	if t == nil {
		return fmt.Errorf("there is no page %s", name)
	}
	all := shell{Title: title, Lang: v.lang, Theme: v.theme(), Path: v.r.URL.RequestURI(), User: v.user,
		Signed: v.user.ID != 0, Page: data}
	if v.r.Method != "GET" {
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
func (v *visit) tabs() []shownTab {
	var out []shownTab
	for _, t := range v.linkedTab {
		if v.user.ID == 0 || t.Owner && v.user.Role != core.RoleOwner {
			continue
		}
		here := v.r.URL.Path == t.Path || t.Path != "/" && strings.HasPrefix(v.r.URL.Path, t.Path+"/")
		if t.Path == "/" {
			here = here || strings.HasPrefix(v.r.URL.Path, "/day") || v.r.URL.Path == "/search"
		}
		out = append(out, shownTab{t.Path, t.Name(v.words), here, t.Path == "/settings" || t.Path == "/admin"})
	}
	return out
}

// part renders something that stands in pages.
func (s *views) part(lang, name string, data any) (template.HTML, error) {
	var b strings.Builder
	if err := s.parts[lang].ExecuteTemplate(&b, name, data); err != nil {
		return "", fmt.Errorf("render %s: %w", name, err)
	}
	return template.HTML(b.String()), nil
}
