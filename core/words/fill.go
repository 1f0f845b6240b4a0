package words

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/feature/plural"
)

// Fill fills a struct with the texts of a section, such as web or web.settings, in one
// of Languages. The key of a field is its name in lower case with underscores:
// sign_in_as. Fields are strings, Counted, Ranked, lists of strings, structs, and maps of
// strings to any of them. A key without a field and a field without a key are errors.
func Fill(language, section string, into any) error {
	c, ok := catalogues()[language]
	if !ok {
		return fmt.Errorf("words: there is no %s.toml", language)
	}
	table := any(c)
	for key := range strings.SplitSeq(section, ".") {
		t, _ := table.(catalogue)
		table = t[key]
	}
	if err := fill(language, reflect.ValueOf(into).Elem(), table); err != nil {
		return fmt.Errorf("words: %s.toml, section %s: %w", language, section, err)
	}
	return nil
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
