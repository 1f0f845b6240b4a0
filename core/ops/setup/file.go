package setup

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/template"
	"time"

	"github.com/everthread/everthread/core/ops/disk"
	"github.com/everthread/everthread/deploy"
)

// fileTexts are the comments of the configuration.
type fileTexts struct{ Head, Rest, Model, Place, Data, Database, Listen, Channels string }

// YAML returns the configuration that answers make, with comments.
func (a Answers) YAML() string {
	t := wordsOf(a.Language).File
	var f yamlFile
	fmt.Fprintf(&f, "# %s\n# %s\n\n# %s\nllm:\n", t.Head, t.Rest, t.Model)
	f.keys(1, "provider", a.LLM.Provider, "base_url", a.LLM.BaseURL, "api_key", a.LLM.Key, "model", a.LLM.Name)
	if a.LLM.Window > 0 {
		fmt.Fprintf(&f, "  context_window: %d\n", a.LLM.Window)
	}
	fmt.Fprintf(&f, "\n# %s\n", t.Place)
	f.keys(0, "default_language", a.Language, "default_timezone", a.Zone)
	fmt.Fprintf(&f, "\n# %s\n", t.Data)
	f.keys(0, "data_dir", a.DataDir)
	if a.Database != "" {
		fmt.Fprintf(&f, "\n# %s\n", t.Database)
		f.keys(0, "database_url", a.Database, "secret_key", a.Secret)
	}
	if a.Listen != "" {
		fmt.Fprintf(&f, "\n# %s\nhttp:\n", t.Listen)
		f.keys(1, "listen", a.Listen)
	}
	if len(a.Channels) > 0 {
		fmt.Fprintf(&f, "\n# %s\n%s", t.Channels, a.channelsYAML())
	}
	return f.String()
}

// Local reports whether the configuration names a server on a loopback address: in a network of its own a container
// does not reach it.
func (a Answers) Local() bool {
	addresses := []string{a.LLM.BaseURL, a.Database}
	for _, c := range a.Channels {
		addresses = append(addresses, c.Keys...)
	}
	return slices.ContainsFunc(addresses, func(address string) bool {
		u, err := url.Parse(address)
		if err != nil || u.Host == "" {
			return false
		}
		ip, err := netip.ParseAddr(u.Hostname())
		return u.Hostname() == "localhost" || err == nil && ip.IsLoopback()
	})
}

// channelsYAML returns the part of the configuration that the channels make.
func (a Answers) channelsYAML() string {
	var f yamlFile
	f.WriteString("channels:\n")
	for _, c := range a.Channels {
		fmt.Fprintf(&f, "  # %s\n  %s:\n", c.Comment, c.Key)
		f.keys(2, c.Keys...)
	}
	return f.String()
}

type yamlFile struct{ strings.Builder }

// keys writes keys and their values, without those whose value is empty.
func (f *yamlFile) keys(depth int, pairs ...string) {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			fmt.Fprintf(f, "%s%s: %s\n", strings.Repeat("  ", depth), pairs[i], quoted(pairs[i+1]))
		}
	}
}

// quoted returns a text as YAML, which takes JSON's strings.
func quoted(text string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(text); err != nil {
		panic(err) // a string always is
	}
	return strings.TrimSpace(b.String())
}

// Draft is a text beside the file that it is to become, readable for nobody else. Keep
// makes it that file; else Drop is to be called. Errors name the file.
type Draft struct{ path, target string }

// NewDraft writes a draft of the file at a path.
func NewDraft(path, text string) (*Draft, error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, unwritable(path, err)
	}
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+"-*") // of mode 600
	if err != nil {
		return nil, unwritable(path, err)
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return nil, unwritable(path, errors.Join(err, os.Remove(f.Name())))
	}
	return &Draft{f.Name(), path}, nil
}

// Path returns where the draft is.
func (d *Draft) Path() string { return d.path }

// Drop removes the draft, if it was not kept.
func (d *Draft) Drop() error {
	if err := os.Remove(d.path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Replace replaces the file with the draft.
func (d *Draft) Replace() error { return unwritable(d.target, os.Rename(d.path, d.target)) }

// Keep replaces the file with the draft. An existing file is kept beside it, under the name that is returned.
func (d *Draft) Keep() (backup string, err error) {
	if _, err := os.Lstat(d.target); err == nil {
		backup = d.target + ".bak"
		for n := 1; ; n++ {
			err := os.Link(d.target, backup)
			if err == nil {
				break
			}
			if !errors.Is(err, fs.ErrExist) {
				return "", unwritable(d.target, fmt.Errorf("keep the old file: %w", err))
			}
			backup = fmt.Sprintf("%s.bak.%d", d.target, n)
		}
	}
	return backup, d.Replace()
}

// WritePublic writes a file that everybody may read. An existing one is kept like Draft.Keep does.
func WritePublic(path, text string) (backup string, err error) {
	d, err := NewDraft(path, text)
	if err != nil {
		return "", err
	}
	if err := os.Chmod(d.path, 0o644); err != nil {
		return "", unwritable(path, err)
	}
	return d.Keep()
}

// unwritable says that a file cannot be written; nil for nil.
func unwritable(path string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s cannot be written: %w", path, disk.Cause(err))
}

// envHead returns the first lines of a new .env, as deploy/env.sh writes them.
func envHead() string {
	_, script, _ := strings.Cut(deploy.Env, "<<'HEAD'\n")
	head, _, _ := strings.Cut(script, "HEAD\n")
	return head
}

// WriteEnv writes .env into a folder, readable for nobody else: the keys that docker-compose.yml needs. In an existing
// one every line stays, and only a missing key is added; wrote reports whether one was. It also makes the folder
// config, where everthread.yaml can stand.
func WriteEnv(folder string, random io.Reader) (wrote bool, err error) {
	path, mode := filepath.Join(folder, ".env"), os.O_WRONLY|os.O_APPEND
	old, err := os.ReadFile(path)
	added := ""
	switch {
	case errors.Is(err, fs.ErrNotExist):
		added, mode = envHead(), mode|os.O_CREATE|os.O_EXCL
	case err != nil:
		return false, unwritable(path, err)
	case len(old) > 0 && old[len(old)-1] != '\n':
		added = "\n"
	}
	for _, key := range []string{"POSTGRES_PASSWORD", "EVERTHREAD_SECRET_KEY"} {
		if regexp.MustCompile(`(?m)^[ \t]*(export[ \t]+)?` + key + `[ \t]*[=:][ \t]*[^\s#]`).Match(old) {
			continue
		}
		secret, err := newSecret(random)
		if err != nil {
			return false, unwritable(path, err)
		}
		added, wrote = fmt.Sprintf("%s%s=%s\n", added, key, secret), true
	}
	if wrote {
		if err := appendPrivately(path, mode, added); err != nil {
			return false, unwritable(path, err)
		}
	}
	return wrote, unwritable(path, publicFolder(filepath.Join(folder, "config")))
}

// appendPrivately appends to a file that nobody else can read from then on.
func appendPrivately(path string, mode int, text string) error {
	f, err := os.OpenFile(path, mode, 0o600)
	if err != nil {
		return err
	}
	if err = f.Chmod(0o600); err == nil {
		_, err = f.WriteString(text)
	}
	return errors.Join(err, f.Sync(), f.Close())
}

// publicFolder makes a folder that others can read, whatever the umask.
func publicFolder(path string) error {
	err := os.Mkdir(path, 0o755)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err == nil {
		err = os.Chmod(path, 0o755)
	}
	return err
}

// Zone returns the time zone of a machine: the one of TZ, else the one that local, such as
// /etc/localtime, links to; empty: unknown.
func Zone(get func(name string) string, local string) string {
	zone := strings.TrimPrefix(get("TZ"), ":")
	if zone == "" {
		to, err := filepath.EvalSymlinks(local)
		if err != nil {
			return ""
		}
		_, zone, _ = strings.Cut(filepath.ToSlash(to), "zoneinfo/")
	}
	if _, err := time.LoadLocation(zone); err != nil || zone == "" || zone == "Local" || filepath.IsAbs(zone) {
		return ""
	}
	return zone
}

// Service is what a service file is made of. All paths are absolute.
type Service struct {
	Program, Config, Folder, Data string
	Port                          string // of the page
	UID, GID                      int
	System                        bool // of the machine, else of the person
	User                          string
	Image                         string // of the container
	Local                         bool   // it needs servers of the machine, by their loopback addresses
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

// Unit returns a unit for systemd: deploy/everthread.service with the paths of this machine. A service of the machine
// runs as the person who made it, unless that is root, so that the person can use the commands on its data. A service
// of the person has only the restrictions that need no privileges.
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

// readUnit parses a unit. It drops the comment above the first section, which is about the file.
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
