// Package words holds all texts for people, in a catalogue for each language: en.toml,
// fr.toml and so on. Adding a language is adding a file. A package declares its texts as
// a struct, which a section of the catalogues fills:
//
//	type texts struct {
//		Welcome  string        // name
//		Messages words.Counted // number
//	}
//
//	var say = words.In[texts]("greeting")
//
//	say("fr-CA").Messages.Of(3)
//
// English is the reference: every language has the same texts, with the same verbs, and
// all plural forms that its rules require. It is pure.
package words

import (
	"embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/BurntSushi/toml"
)

// English is the language of users whose own has no catalogue.
const English = "en"

//go:embed *.toml
var files embed.FS

var languages = sync.OnceValue(func() []string {
	all, err := files.ReadDir(".")
	if err != nil {
		panic(fmt.Errorf("words: %w", err))
	}
	out := []string{English}
	for _, f := range all {
		if language := strings.TrimSuffix(f.Name(), ".toml"); language != English {
			out = append(out, language)
		}
	}
	return out
})

// Languages returns the languages with a catalogue: English, then the others by code.
func Languages() []string { return slices.Clone(languages()) }

// Match returns the language for a language tag: fr for fr, FR_fr and fr-CA, English
// for languages without a catalogue.
func Match(tag string) string {
	base, _, _ := strings.Cut(strings.NewReplacer("_", "-", ".", "-").Replace(strings.ToLower(tag)), "-")
	if slices.Contains(languages(), base) {
		return base
	}
	return English
}

// Locale returns the language of a program's environment: that of the first of LC_ALL,
// LC_MESSAGES and LANG that is set.
func Locale(variable func(name string) string) string {
	for _, name := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} {
		if v := variable(name); v != "" {
			return Match(v)
		}
	}
	return English
}

// In returns a function that returns the texts of a section in the language that Match
// finds for a tag. They are shared and filled once; callers must not change them. The
// function panics at its first use if a catalogue lacks a text or has an unknown one:
// like in regexp.MustCompile, that is an error in the source.
func In[T any](section string) func(tag string) *T {
	filled := sync.OnceValue(func() map[string]*T {
		out := map[string]*T{}
		for _, language := range languages() {
			out[language] = new(T)
			if err := Fill(language, section, out[language]); err != nil {
				panic(err)
			}
		}
		return out
	})
	return func(tag string) *T { return filled()[Match(tag)] }
}

// catalogue is the content of one file: texts, tables and lists by their keys.
type catalogue = map[string]any

var catalogues = sync.OnceValue(func() map[string]catalogue {
	out := map[string]catalogue{}
	for _, language := range languages() {
		var c catalogue
		if _, err := toml.DecodeFS(files, language+".toml", &c); err != nil {
			panic(fmt.Errorf("words: %s.toml: %w", language, err))
		}
		out[language] = c
	}
	return out
})

// Headings returns a day's summary with its headings in a language. Stored summaries
// have English headings, by which they are parsed.
func Headings(language, markdown string) string {
	from, to := say("en"), say(language)
	if *from == *to {
		return markdown
	}
	lines := strings.Split(markdown, "\n")
	for i, line := range lines {
		title, ok := strings.CutPrefix(strings.TrimRight(line, " \r"), "## ")
		for n, heading := range from.all() {
			if ok && title == heading {
				lines[i] = "## " + to.all()[n]
			}
		}
	}
	return strings.Join(lines, "\n")
}

type headings struct{ Narrative, Goals, Decisions, OpenLoops, NextSteps string }

func (h *headings) all() []string {
	return []string{h.Narrative, h.Goals, h.Decisions, h.OpenLoops, h.NextSteps}
}

var say = In[headings]("headings")
