package setup

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// fileTexts are the comments of the configuration.
type fileTexts struct{ Head, Rest, Model, Place, Data, Database, Listen, Channels string }

// YAML is the configuration that answers make: what was answered, with comments.
func (a Answers) YAML() string {
	t := wordsOf(a.Language).File
	var f yamlFile
	f.comment(t.Head)
	f.comment(t.Rest)
	f.part(t.Model, "llm")
	f.keys(1, "provider", a.LLM.Provider, "base_url", a.LLM.BaseURL, "api_key", a.LLM.Key, "model", a.LLM.Name)
	if a.LLM.Window > 0 {
		fmt.Fprintf(&f, "  context_window: %d\n", a.LLM.Window)
	}
	f.blank(t.Place)
	f.keys(0, "default_language", a.Language, "default_timezone", a.Zone)
	f.blank(t.Data)
	f.keys(0, "data_dir", a.DataDir)
	if a.Database != "" {
		f.blank(t.Database)
		f.keys(0, "database_url", a.Database, "secret_key", a.Secret)
	}
	if a.Listen != "" {
		f.part(t.Listen, "http")
		f.keys(1, "listen", a.Listen)
	}
	a.channels(&f, t)
	return f.String()
}

func (a Answers) channels(f *yamlFile, t fileTexts) {
	if len(a.Channels) == 0 {
		return
	}
	f.blank(t.Channels)
	f.WriteString(a.channelsYAML())
}

// channelsYAML is the part of the configuration that the channels make.
func (a Answers) channelsYAML() string {
	var f yamlFile
	f.WriteString("channels:\n")
	for _, c := range a.Channels {
		f.nested(c.Comment, c.Key)
		f.keys(2, c.Keys...)
	}
	return f.String()
}

// yamlFile is a file as it is written.
type yamlFile struct{ strings.Builder }

func (f *yamlFile) comment(text string) { fmt.Fprintf(f, "# %s\n", text) }

func (f *yamlFile) blank(text string) { fmt.Fprintf(f, "\n# %s\n", text) }

func (f *yamlFile) part(text, key string) {
	f.blank(text)
	fmt.Fprintf(f, "%s:\n", key)
}

func (f *yamlFile) nested(text, key string) { fmt.Fprintf(f, "  # %s\n  %s:\n", text, key) }

// keys writes keys and their values, but for those without.
func (f *yamlFile) keys(depth int, pairs ...string) {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			fmt.Fprintf(f, "%s%s: %s\n", strings.Repeat("  ", depth), pairs[i], quoted(pairs[i+1]))
		}
	}
}

// quoted is a text as YAML, which takes JSON's strings.
func quoted(text string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(text); err != nil {
		panic(err) // a string always is
	}
	return strings.TrimSpace(b.String())
}

// Draft writes a text beside a file, readable for nobody else. Keep makes it that
// file; else Drop is to be called.
type Draft struct{ path, target string }

// NewDraft writes a draft of the file at a path.
func NewDraft(path, text string) (*Draft, error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+"-*") // of mode 600
	if err != nil {
		return nil, err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return nil, errors.Join(err, os.Remove(f.Name()))
	}
	return &Draft{f.Name(), path}, nil
}

// Path is where the draft is.
func (d *Draft) Path() string { return d.path }

// Drop removes the draft, if it was not kept.
func (d *Draft) Drop() error {
	err := os.Remove(d.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Replace puts the draft in its place.
func (d *Draft) Replace() error { return os.Rename(d.path, d.target) }

// Publish lets everybody read the draft: there is nothing secret in it.
func (d *Draft) Publish() error { return os.Chmod(d.path, 0o644) }

// Keep puts the draft in its place. A file that is there is kept beside it, under
// the name that is returned.
func (d *Draft) Keep() (backup string, err error) {
	if _, err := os.Lstat(d.target); err == nil {
		for n := 0; ; n++ {
			backup = d.target + ".bak"
			if n > 0 {
				backup = fmt.Sprintf("%s.bak.%d", d.target, n)
			}
			err := os.Link(d.target, backup)
			if err == nil {
				break
			}
			if !errors.Is(err, fs.ErrExist) {
				return "", fmt.Errorf("keep the old file: %w", err)
			}
		}
	}
	return backup, d.Replace()
}
