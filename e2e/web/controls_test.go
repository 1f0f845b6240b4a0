//go:build e2e

package web

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/everthread/everthread/e2e/e2etest"
)

// written is a control in a template, with asterisks for values.
type written struct {
	control
	text string // of its tag
	file string
}

var (
	either = regexp.MustCompile(`\{\{if [^}]*\}\}[^<>"{]*\{\{else\}\}[^<>"{]*\{\{end\}\}`)
	action = regexp.MustCompile(`\{\{.*?\}\}`)
	tag    = regexp.MustCompile(`<(/?)(form|details|a|button|summary|input|select|textarea)\b((?:[^>"]|"[^"]*")*)>`)
	attr   = regexp.MustCompile(`([a-z-]+)(?:="([^"]*)")?`)
	stars  = regexp.MustCompile(`\*[*\s]*\*`)
)

// controls returns the controls of all templates.
func controls(t *testing.T) (out []written) {
	t.Helper()
	for _, pattern := range []string{"templates/*.html", "templates/parts/*.html"} {
		for _, room := range []string{"", "chat/", "settings/"} {
			names, err := filepath.Glob("../../adapters/web/" + room + pattern)
			e2etest.Must(t, err)
			for _, name := range names {
				b, err := os.ReadFile(name)
				e2etest.Must(t, err)
				out = append(out, inTemplate(filepath.Base(name), string(b))...)
			}
		}
	}
	if len(out) < 150 {
		t.Fatalf("the templates have only %d controls", len(out))
	}
	return out
}

// inTemplate returns the controls of one template.
func inTemplate(file, text string) (out []written) {
	text = either.ReplaceAllString(text, "*")
	text = action.ReplaceAllString(text, "*")
	form, details := "", ""
	for _, m := range tag.FindAllStringSubmatch(text, -1) {
		w := written{control: control{Tag: m[2], Attrs: map[string]string{}}, text: m[0], file: file}
		for _, a := range attr.FindAllStringSubmatch(m[3], -1) {
			if _, twice := w.Attrs[a[1]]; !twice {
				w.Attrs[a[1]] = stars.ReplaceAllString(a[2], "*")
			}
		}
		switch {
		case m[2] == "form":
			if form = ""; m[1] == "" {
				form = w.Attrs["action"]
			}
			continue
		case m[2] == "details":
			details = w.Attrs["class"]
			continue
		case m[1] != "" || w.Attrs["type"] == "hidden":
			continue
		}
		if w.Form = form; w.Tag == "summary" {
			w.Details = details
		}
		out = append(out, w)
	}
	return out
}

// is reports whether a template's control renders a control of a page.
func (w written) is(c control) bool {
	if w.Tag != c.Tag || w.Form != "" && !globbed(w.Form, c.Form) || !classes(w.Details, c.Details) {
		return false
	}
	for name, want := range w.Attrs {
		got, there := c.Attrs[name]
		switch {
		case name == "class":
			if !classes(want, got) {
				return false
			}
		case name == "href", name == "id", name == "name", name == "value" && w.Tag == "button",
			strings.HasPrefix(name, "data-"):
			if !there || !globbed(want, got) {
				return false
			}
		}
	}
	return true
}

// classes reports whether one list of classes contains all literal ones of another.
func classes(want, got string) bool {
	for _, name := range strings.Fields(want) {
		if !strings.Contains(name, "*") && !slices.Contains(strings.Fields(got), name) {
			return false
		}
	}
	return true
}

// globbed reports whether a text matches a pattern with asterisks.
func globbed(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	last := len(parts) - 1
	if last == 0 {
		return pattern == text
	}
	if !strings.HasPrefix(text, parts[0]) {
		return false
	}
	text = text[len(parts[0]):]
	for _, part := range parts[1:last] {
		i := strings.Index(text, part)
		if i < 0 {
			return false
		}
		text = text[i+len(part):]
	}
	return strings.HasSuffix(text, parts[last])
}

// beyond lists controls that no hand operates, with the reason.
var beyond = map[string]string{
	`<a class="button" href="/settings/data">`:                  "it is shown where a deletion broke off",
	`<a class="button primary big" href="*" rel="noreferrer">`:  "its page goes on by itself",
	`<a class="step to-search" href="*/search" aria-label="*">`: "no group is in the house; TestGroups_onThePage operates it",
	`<button class="button" aria-label="*: *">`:                 "it is shown where a server of models has its usual port",
}

// leaves lists the controls of templates that are missing: buttons must have been
// operated, others reached.
func leaves(t *testing.T, done, met []control) (out []string) {
	t.Helper()
	all := append(slices.Clone(met), done...)
	for _, w := range controls(t) {
		have := all
		if w.Tag == "button" {
			have = done
		}
		if beyond[w.text] == "" && !slices.ContainsFunc(have, w.is) {
			out = append(out, w.file+": "+w.text)
		}
	}
	return out
}
