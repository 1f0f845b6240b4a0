// Package i18n holds all texts for people, in a catalogue for each language: en.toml, fr.toml and so on;
// docs/adding-a-language.md says how to add one. A package declares its texts as a struct, which a section of the catalogues fills:
//
//	type texts struct {
//		Welcome  string        // name
//		Messages i18n.Counted // number
//	}
//
//	var say = i18n.In[texts]("greeting")
//
//	say("fr-CA").Messages.Of(3)
//
// English is the reference: every language has the same texts, with the same verbs, and
// all plural forms that its rules require. It is pure.
package i18n

import (
	"embed"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/pelletier/go-toml/v2"
	"golang.org/x/text/feature/plural"
)

// English is the language of users whose own has no catalogue.
const English = "en"

//go:embed *.toml read/*.toml
var files embed.FS

var languages = sync.OnceValue(func() []string {
	all, err := files.ReadDir(".")
	if err != nil {
		panic(fmt.Errorf("i18n: %w", err))
	}
	out := []string{English}
	for _, f := range all {
		if language, ok := strings.CutSuffix(f.Name(), ".toml"); ok && language != English {
			out = append(out, language)
		}
	}
	return out
})

// readOnly returns the languages that the program reads and does not speak.
var readOnly = sync.OnceValue(func() (out []string) {
	all, err := files.ReadDir("read")
	if err != nil {
		panic(fmt.Errorf("i18n: %w", err))
	}
	for _, f := range all {
		out = append(out, "read/"+strings.TrimSuffix(f.Name(), ".toml"))
	}
	return out
})

// Languages returns the languages with a catalogue: English, then the others by code.
func Languages() []string { return slices.Clone(languages()) }

// Match returns the language for a language tag: fr for fr, FR_fr and fr-CA, English for languages without a catalogue.
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

// In returns a function that returns the texts of a section in the language that Match finds for a tag. They are shared
// and filled once; callers must not change them. The function panics at its first use if a catalogue lacks a text or
// has an unknown one: like in regexp.MustCompile, that is an error in the source.
func In[T any](section string) func(tag string) *T {
	filled := each(func(language string) *T {
		out := new(T)
		if err := Fill(language, section, out); err != nil {
			panic(err)
		}
		return out
	})
	return func(tag string) *T { return filled(Match(tag)) }
}

// Read returns a section in every language that the program reads, by language: those of Languages, and those that it
// reads and does not speak, in the folder read, if they have it. Like the function of In it panics if one is wrong.
func Read[T any](section string) map[string]*T {
	out := map[string]*T{}
	for _, language := range slices.Concat(languages(), readOnly()) {
		if sectionOf(language, section) == nil && !slices.Contains(languages(), language) {
			continue
		}
		out[language] = new(T)
		if err := Fill(language, section, out[language]); err != nil {
			panic(err)
		}
	}
	return out
}

// each returns a function that calls read for a language at its first use. It returns the zero
// value for a language without a catalogue.
func each[T any](read func(language string) T) func(language string) (one T) {
	all := sync.OnceValue(func() map[string]func() T {
		out := map[string]func() T{}
		for _, language := range slices.Concat(languages(), readOnly()) {
			out[language] = sync.OnceValue(func() T { return read(language) })
		}
		return out
	})
	return func(language string) (one T) {
		if of, ok := all()[language]; ok {
			one = of()
		}
		return one
	}
}

// catalogue is the content of one file: texts, tables and lists by their keys.
type catalogue = map[string]any

var catalogues = each(func(language string) (c catalogue) {
	text, err := files.ReadFile(language + ".toml")
	if err == nil {
		err = toml.Unmarshal(text, &c)
	}
	if err != nil {
		panic(fmt.Errorf("i18n: %s.toml: %w", language, err))
	}
	return c
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

type headings struct{ Narrative, Goals, Decisions, OpenLoops, Settled, NextSteps, Today string }

func (h *headings) all() []string {
	return []string{h.Narrative, h.Goals, h.Decisions, h.OpenLoops, h.Settled, h.NextSteps}
}

// Today returns the heading, in a language, of what the day after a summary has ahead.
func Today(language string) string { return "## " + say(language).Today }

// CutToday cuts what is posted in the morning, in any language, before the day ahead. found is false if it has none.
func CutToday(markdown string) (summary, today string, found bool) {
	for _, language := range Languages() {
		heading := Today(language) + "\n"
		if at := strings.LastIndex("\n"+markdown, "\n"+heading); at >= 0 {
			return strings.TrimSpace(markdown[:at]), markdown[at+len(heading):], true
		}
	}
	return markdown, "", false
}

var say = In[headings]("headings")

// Fill fills a struct with the texts of a section, such as web or web.settings, in one of Languages. The key of a field
// is its name in lower case with underscores: sign_in_as. Fields are strings, Counted, Ranked, lists of strings,
// structs, and maps of strings to any of them. A key without a field and a field without a key are errors.
func Fill(language, section string, into any) error {
	c := catalogues(language)
	if c == nil {
		return fmt.Errorf("i18n: there is no %s.toml", language)
	}
	if err := fill(language, reflect.ValueOf(into).Elem(), sectionOf(language, section)); err != nil {
		return fmt.Errorf("i18n: %s.toml, section %s: %w", language, section, err)
	}
	return nil
}

// sectionOf returns a section of a catalogue, nil if it has none.
func sectionOf(language, section string) any {
	table := any(catalogues(language))
	for key := range strings.SplitSeq(section, ".") {
		t, _ := table.(catalogue)
		table = t[key]
	}
	return table
}

func fill(language string, into reflect.Value, from any) error {
	if from == nil {
		return errors.New("it is missing")
	}
	var err error
	switch text := into.Addr().Interface().(type) {
	case *Counted:
		text.forms, err = readForms(language, plural.Cardinal, from)
		return err
	case *Ranked:
		text.forms, err = readForms(language, plural.Ordinal, from)
		return err
	}
	switch into.Kind() {
	case reflect.String:
		s, ok := from.(string)
		if !ok || s == "" {
			return errors.New("it is no text")
		}
		into.SetString(s)
		return nil
	case reflect.Slice, reflect.Array:
		return fillList(language, into, from)
	case reflect.Map:
		return fillMap(language, into, from)
	case reflect.Struct:
		return fillStruct(language, into, from)
	}
	return fmt.Errorf("a %s cannot be filled", into.Type())
}

func fillList(language string, into reflect.Value, from any) error {
	list, ok := from.([]any)
	if !ok {
		return errors.New("it is no list")
	}
	if into.Kind() == reflect.Slice {
		into.Set(reflect.MakeSlice(into.Type(), len(list), len(list)))
	}
	if len(list) != into.Len() {
		return fmt.Errorf("it has %d entries, not %d", len(list), into.Len())
	}
	for i, entry := range list {
		if err := fill(language, into.Index(i), entry); err != nil {
			return fmt.Errorf("entry %d: %w", i+1, err)
		}
	}
	return nil
}

func fillMap(language string, into reflect.Value, from any) error {
	table, ok := from.(catalogue)
	if !ok || len(table) == 0 {
		return errors.New("it is no table")
	}
	into.Set(reflect.MakeMap(into.Type()))
	for key, entry := range table {
		value := reflect.New(into.Type().Elem()).Elem()
		if err := fill(language, value, entry); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		into.SetMapIndex(reflect.ValueOf(key).Convert(into.Type().Key()), value)
	}
	return nil
}

func fillStruct(language string, into reflect.Value, from any) error {
	table, ok := from.(catalogue)
	if !ok {
		return errors.New("it is no table")
	}
	var faults []error
	var keys []string
	for i := range into.NumField() {
		key := keyOf(into.Type().Field(i).Name)
		keys = append(keys, key)
		if err := fill(language, into.Field(i), table[key]); err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", key, err))
		}
	}
	for key := range table {
		if !slices.Contains(keys, key) {
			faults = append(faults, fmt.Errorf("%s: unknown key", key))
		}
	}
	return errors.Join(faults...)
}

// keyOf returns the key of a field: sign_in_as for SignInAs, web_url for WebURL.
func keyOf(field string) string {
	var out []rune
	letters := []rune(field)
	for i, r := range letters {
		follows := i > 0 && !unicode.IsUpper(letters[i-1]) || i+1 < len(letters) && unicode.IsLower(letters[i+1])
		if i > 0 && unicode.IsUpper(r) && follows {
			out = append(out, '_')
		}
		out = append(out, unicode.ToLower(r))
	}
	return string(out)
}
