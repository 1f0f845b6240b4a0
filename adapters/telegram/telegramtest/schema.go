package telegramtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// description is the published description of the Bot API.
type description struct {
	Methods map[string]object `json:"methods"`
	Types   map[string]object `json:"types"`
}

type object struct {
	Fields   []field  `json:"fields"`
	Subtypes []string `json:"subtypes"`
}

type field struct {
	Name     string   `json:"name"`
	Types    []string `json:"types"`
	Required bool     `json:"required"`
}

// newer are the parameters of Bot API 10.2 and 10.3 that go-telegram/bot has and the
// description lacks.
var newer = map[string][]field{
	"sendMessageDraft": {
		{Name: "can_stop", Types: []string{"Boolean"}},
		{Name: "keep_on_stop", Types: []string{"Boolean"}},
		{Name: "business_connection_id", Types: []string{"String"}},
	},
	"sendMessage": {{Name: "ephemeral_message_parameters", Types: []string{"Any"}}},
}

// HasDescription reports whether requests are checked against the description of the API,
// which is next to the checkout in ../shared/data.
func HasDescription() bool { return published() != nil }

var published = sync.OnceValue(func() *description {
	dir, err := os.Getwd()
	for err == nil {
		if _, missing := os.Stat(filepath.Join(dir, "go.mod")); missing == nil {
			break
		}
		if filepath.Dir(dir) == dir {
			return nil
		}
		dir = filepath.Dir(dir)
	}
	raw, err := os.ReadFile(filepath.Join(dir, "..", "shared", "data", "telegram-bot-api-10.1.json"))
	if err != nil {
		return nil
	}
	var d description
	if json.Unmarshal(raw, &d) != nil {
		return nil
	}
	for method, fields := range newer {
		m := d.Methods[method]
		m.Fields = append(m.Fields, fields...)
		d.Methods[method] = m
	}
	return &d
})

// checkFields checks the parameters of a JSON request.
func checkFields(method string, fields map[string]json.RawMessage) error {
	d := published()
	if d == nil {
		return nil
	}
	m, ok := d.Methods[method]
	if !ok {
		return errors.New("no such method in the Bot API")
	}
	return d.checkObject(m, fields)
}

// checkForm checks the parameters of a form: texts in the description are plain, and all
// others must be JSON. A file is valid wherever one is allowed.
func checkForm(method string, p params) error {
	fields := map[string]json.RawMessage{}
	for name, value := range p.values {
		fields[name] = json.RawMessage(value)
		if !json.Valid(fields[name]) || textField(method, name) {
			fields[name], _ = json.Marshal(value)
		}
	}
	for name := range p.files {
		if !takesFile(method, name) {
			return fmt.Errorf("%s: no such file", name)
		}
		fields[name] = json.RawMessage(`""`)
	}
	return checkFields(method, fields)
}

func textField(method, name string) bool { return typed(method, name, "String") }

func takesFile(method, name string) bool {
	return published() == nil || typed(method, name, "InputFile")
}

// typed reports whether a parameter may have a type.
func typed(method, name, kind string) bool {
	d := published()
	if d == nil {
		return false
	}
	for _, f := range d.Methods[method].Fields {
		if f.Name == name {
			return slices.Contains(f.Types, kind)
		}
	}
	return false
}

func (d *description) checkObject(o object, fields map[string]json.RawMessage) error {
	known := map[string]field{}
	for _, f := range o.Fields {
		known[f.Name] = f
		if _, ok := fields[f.Name]; f.Required && !ok {
			return fmt.Errorf("field %s is missing", f.Name)
		}
	}
	for name, raw := range fields {
		f, ok := known[name]
		if !ok {
			return fmt.Errorf("no such field: %s", name)
		}
		if err := d.checkAny(f.Types, raw); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// checkAny accepts a value that fits one of types.
func (d *description) checkAny(types []string, raw json.RawMessage) error {
	var err error
	for _, t := range types {
		if err = d.check(t, raw); err == nil {
			return nil
		}
	}
	return err
}

func (d *description) check(name string, raw json.RawMessage) error {
	if of, ok := strings.CutPrefix(name, "Array of "); ok {
		return d.checkArray(of, raw)
	}
	switch name {
	case "Any", "InputFile":
		return nil
	case "Integer":
		return fits[int64](raw)
	case "Float":
		return fits[float64](raw)
	case "Boolean", "True":
		return fits[bool](raw)
	case "String":
		return fits[string](raw)
	}
	o, ok := d.Types[name]
	if !ok {
		return fmt.Errorf("no such type: %s", name)
	}
	if len(o.Subtypes) > 0 {
		return d.checkAny(o.Subtypes, raw)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return fmt.Errorf("want %s", name)
	}
	return d.checkObject(o, fields)
}

func (d *description) checkArray(of string, raw json.RawMessage) error {
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return fmt.Errorf("want a list of %s", of)
	}
	for i, v := range list {
		if err := d.check(of, v); err != nil {
			return fmt.Errorf("%d: %w", i, err)
		}
	}
	return nil
}

func fits[T any](raw json.RawMessage) error {
	var v T
	if bytes.Equal(raw, []byte("null")) {
		return errors.New("is null")
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return fmt.Errorf("want %T", v)
	}
	return nil
}
