package configs

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Element is one of the named things that a key lists, such as a choice of model or a calendar.
type Element struct {
	Name     string
	Settings []Setting // their keys are relative to the element
}

// Elements lists what a key lists, by name; the key is that of a list or a map of structs.
func (c Config) Elements(key string) []Element {
	list, ok := c.list(key)
	if !ok {
		return nil
	}
	var out []Element
	for _, name := range list.names() {
		e := Element{Name: name}
		for _, l := range leaves(list.get(name), "") {
			e.Settings = append(e.Settings, Setting{Key: l.path, Value: l.text(), Secret: l.hidden()})
		}
		out = append(out, e)
	}
	return out
}

// Fields lists the values that an element of a key has, without their values.
func Fields(key string) []Setting {
	list, ok := Default().list(key)
	if !ok {
		return nil
	}
	var out []Setting
	for _, l := range leaves(reflect.New(list.Type().Elem()).Elem(), "") {
		out = append(out, Setting{Key: l.path, Secret: l.hidden()})
	}
	return out
}

// KeyOf returns the key of a value of c, which has a text; empty: it is none of c's.
func (c Config) KeyOf(text *string) string {
	for _, l := range leaves(reflect.ValueOf(&c).Elem(), "") {
		if l.value.Kind() == reflect.String && l.value.Addr().Pointer() == reflect.ValueOf(text).Pointer() {
			return l.path
		}
	}
	return ""
}

// WithElement returns what Stored holds for a key whose element of this name has other values; one that is not there is
// added. A value that is missing stays, as a secret does that is empty, unless it would go to another server.
func (c Config) WithElement(key, name string, values map[string]string) (string, error) {
	list, ok := c.list(key)
	if !ok {
		return "", fmt.Errorf("%s lists nothing", key)
	}
	if name = strings.TrimSpace(name); name == "" {
		return "", errors.New("it needs a name")
	}
	e := list.get(name)
	moves := slices.ContainsFunc(leaves(e, ""), func(l leaf) bool {
		text, given := values[l.path]
		return given && Addresses(l.path) && text != l.text()
	})
	for _, l := range leaves(e, "") {
		text, given := values[l.path]
		switch {
		case text == "" && l.hidden() && moves:
			l.value.SetZero()
			continue
		case !given, text == "" && l.hidden():
			continue
		case text == "":
			l.value.SetZero()
			continue
		}
		if err := l.fromEnvironment(l.variable(), text); err != nil {
			return "", fmt.Errorf("%s: %w", l.path, err)
		}
	}
	list.put(name, e)
	return Text(list.Interface())
}

// Addresses reports whether a key says to whom a secret beside it is sent.
func Addresses(key string) bool {
	name := key[strings.LastIndex(key, ".")+1:]
	return slices.Contains([]string{"provider", "base_url", "url", "host"}, name)
}

// WithoutElement is WithElement for one that is removed. It returns "" if none is left.
func (c Config) WithoutElement(key, name string) (string, error) {
	list, ok := c.list(key)
	if !ok {
		return "", fmt.Errorf("%s lists nothing", key)
	}
	if list.remove(name); list.Len() == 0 {
		return "", nil
	}
	return Text(list.Interface())
}

// elements is a copy of a list of structs that have names, or of a map of structs.
type elements struct{ reflect.Value }

func (c Config) list(key string) (elements, bool) {
	all := leaves(reflect.ValueOf(&c).Elem(), "")
	i := slices.IndexFunc(all, func(l leaf) bool { return l.path == key })
	if i < 0 {
		return elements{}, false
	}
	v := all[i].value
	switch v.Kind() {
	case reflect.Slice:
		out := reflect.New(v.Type()).Elem()
		out.Set(reflect.AppendSlice(reflect.MakeSlice(v.Type(), 0, v.Len()+1), v))
		return elements{out}, v.Type().Elem().Kind() == reflect.Struct
	case reflect.Map:
		out := reflect.MakeMap(v.Type())
		for _, k := range v.MapKeys() {
			out.SetMapIndex(k, v.MapIndex(k))
		}
		return elements{out}, v.Type().Elem().Kind() == reflect.Struct
	}
	return elements{}, false
}

func (e elements) names() []string {
	var out []string
	if e.Kind() == reflect.Map {
		for _, k := range e.MapKeys() {
			out = append(out, k.String())
		}
		slices.Sort(out)
		return out
	}
	for i := range e.Len() {
		out = append(out, e.Index(i).FieldByName("Name").String())
	}
	return out
}

// get returns a copy of an element, or a new one, whose fields can be set.
func (e elements) get(name string) reflect.Value {
	out := reflect.New(e.Type().Elem()).Elem()
	if e.Kind() == reflect.Map {
		if v := e.MapIndex(reflect.ValueOf(name)); v.IsValid() {
			out.Set(v)
		}
		return out
	}
	if i := slices.Index(e.names(), name); i >= 0 {
		out.Set(e.Index(i))
	} else {
		out.FieldByName("Name").SetString(name)
	}
	return out
}

func (e elements) put(name string, v reflect.Value) {
	if e.Kind() == reflect.Map {
		e.SetMapIndex(reflect.ValueOf(name), v)
	} else if i := slices.Index(e.names(), name); i >= 0 {
		e.Index(i).Set(v)
	} else {
		e.Set(reflect.Append(e.Value, v))
	}
}

func (e elements) remove(name string) {
	if e.Kind() == reflect.Map {
		e.SetMapIndex(reflect.ValueOf(name), reflect.Value{})
	} else if i := slices.Index(e.names(), name); i >= 0 {
		e.Set(reflect.AppendSlice(e.Slice(0, i), e.Slice(i+1, e.Len())))
	}
}
