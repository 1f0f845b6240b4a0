package setup

import (
	"strings"
	"text/template"

	"github.com/everthread/everthread/deploy"
)

// Service is what a service file is made of. All paths are absolute.
type Service struct {
	Program, Config, Folder, Data string
	Port                          string // of the page
	UID, GID                      int
	System                        bool // of the machine, else of the person
	User                          string
}

// Compose returns a file for Docker Compose. The container runs as the person who made the
// configuration, so that it can read it.
func (s Service) Compose() string {
	var b strings.Builder
	// Compose reads no variables out of $$.
	plain := template.FuncMap{"quoted": func(text string) string { return strings.ReplaceAll(quoted(text), "$", "$$") }}
	if err := template.Must(template.New("").Funcs(plain).Parse(deploy.Compose)).Execute(&b, s); err != nil {
		panic(err) // it is embedded, and tested
	}
	return b.String()
}

// path escapes a path for systemd.
func path(text string) string { return strings.ReplaceAll(text, "%", "%%") }

// argument escapes a part of a command line for systemd.
func argument(text string) string { return word(strings.ReplaceAll(text, "$", "$$")) }

// word escapes one of several values for systemd.
func word(text string) string {
	text = path(text)
	if !strings.ContainsAny(text, " \t\"'\\") {
		return text
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}
