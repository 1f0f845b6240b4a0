package setup

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/everthread/everthread/core/disk"
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

// Keep replaces the file with the draft. An existing file is kept beside it, under the name
// that is returned.
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

// WritePublic writes a file that everybody may read. An existing one is kept like Draft.Keep
// does.
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

// WriteEnv writes .env into a folder, readable for nobody else: the keys that
// docker-compose.yml needs. In an existing one every line stays, and only a missing key is
// added; wrote reports whether one was. It also makes the folder config, where
// everthread.yaml can stand.
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
