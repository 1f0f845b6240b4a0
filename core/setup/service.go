package setup

import (
	"path/filepath"
	"slices"
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

// StateDir is the data folder of a service of the machine.
const StateDir = "/var/lib/everthread"

// Unit returns a unit for systemd: deploy/everthread.service with the paths of this machine.
// A service of the machine runs as the person who made it, unless that is root, so that the
// person can use the commands on its data. A service of the person has only the
// restrictions that need no privileges.
func (s Service) Unit() string {
	u := readUnit(deploy.Unit)
	credentials := "${CREDENTIALS_DIRECTORY}/everthread.yaml"
	switch {
	case !s.System:
		u = u.filter(true, "Description", "Type", "ExecStart", "WorkingDirectory", "Restart", "RestartSec", "KillSignal",
			"TimeoutStopSec", "LimitNOFILE", "UMask", "NoNewPrivileges", "RestrictAddressFamilies",
			"RestrictNamespaces", "RestrictRealtime", "RestrictSUIDSGID", "LockPersonality",
			"SystemCallArchitectures", "SystemCallFilter", "SystemCallErrorNumber", "WantedBy")
		u.set("WorkingDirectory", path(s.Folder))
		u.set("WantedBy", "default.target")
		credentials = argument(s.Config)
	case s.User == "root":
		u.set("LoadCredential", "everthread.yaml:"+path(s.Config))
		if hidden(s.Program) {
			u.set("ProtectHome", "tmpfs", "BindReadOnlyPaths="+word(s.Program))
		}
	default:
		u = u.filter(false, "LoadCredential", "SetCredential", "EnvironmentFile", "StateDirectory", "StateDirectoryMode")
		u.set("Environment", word("EVERTHREAD_DATA_DIR="+s.Data)+" "+word("HOME="+s.Data))
		u.set("WorkingDirectory", path(s.Folder))
		u.set("DynamicUser", "", "User="+path(s.User))
		u.set("ProtectHome", "read-only", "ReadWritePaths="+word(s.Data))
		credentials = argument(s.Config)
	}
	u.set("ExecStart", argument(s.Program)+" serve --config "+credentials)
	return "# Made by `everthread init`.\n\n" + u.String()
}

// hidden reports whether ProtectHome=yes hides a path.
func hidden(path string) bool {
	return slices.ContainsFunc([]string{"/home", "/root", "/run/user"}, func(dir string) bool {
		inside, err := filepath.Rel(dir, path)
		return err == nil && !strings.HasPrefix(inside, "..")
	})
}

// directive is a line of a unit, with the comments above it.
type directive struct {
	section, key, value string
	above               string // comments and blank lines
}

// unit is a file for systemd.
type unit []directive

// readUnit parses a unit. It drops the comment above the first section, which is about the
// file.
func readUnit(text string) unit {
	var u unit
	section, above := "", ""
	for line := range strings.Lines(text) {
		key, value, found := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		switch {
		case strings.HasPrefix(line, "["):
			section, above = strings.TrimSpace(line), ""
		case strings.HasPrefix(line, "#"), !found:
			above += line
		default:
			u = append(u, directive{section, key, value, above})
			above = ""
		}
	}
	return u
}

// set changes a directive and adds lines below it. Without a value the lines replace it.
func (u unit) set(key, value string, more ...string) {
	for i := range u {
		if u[i].key != key {
			continue
		}
		if value == "" {
			u[i].key, u[i].value, _ = strings.Cut(more[0], "=")
			more = more[1:]
		} else {
			u[i].value = value
		}
		for _, line := range more {
			u[i].value += "\n" + line
		}
		return
	}
	panic("the unit has no " + key) // it is embedded, and tested
}

// filter keeps the directives with these keys, or those without.
func (u unit) filter(keep bool, keys ...string) unit {
	return slices.DeleteFunc(u, func(d directive) bool { return slices.Contains(keys, d.key) != keep })
}

// String returns the unit as systemd reads it.
func (u unit) String() string {
	var b strings.Builder
	section := ""
	for _, d := range u {
		if d.section != section {
			if section != "" {
				b.WriteString("\n")
			}
			section = d.section
			b.WriteString(section + "\n")
		}
		b.WriteString(d.above + d.key + "=" + d.value + "\n")
	}
	return b.String()
}
