package setup

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/everthread/everthread/core/folder"
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
	return fmt.Errorf("%s cannot be written: %w", path, folder.Cause(err))
}
