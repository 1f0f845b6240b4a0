package configs

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/everthread/everthread/configs/section"
)

// Stored are values that the owner set on the page, by key, each written as in the environment. They override the
// defaults; the file and the environment override them.
type Stored map[string]string

// Origin says where the value of a key comes from.
type Origin struct {
	Layer Layer
	Name  string // of the variable; empty but for the environment
}

// Layer is a source of values. Each overrides those before it.
type Layer string

// Layers, the first one first.
const (
	FromDefaults    Layer = ""
	FromPage        Layer = "page"
	FromFile        Layer = "file"
	FromEnvironment Layer = "environment"
)

// Fixed reports whether the page cannot change the value.
func (o Origin) Fixed() bool { return o.Layer == FromFile || o.Layer == FromEnvironment }

// beneath are the keys that are needed before the store is open, or that decide what the page may do to the machine.
// The page cannot set them.
var beneath = []string{"database_url", "database_listen_url", "database_connections", "data_dir", "secret_key",
	"previous_secret_key", "setup_code", "http", "log", "allow_private_urls", "egress", "backup"}

// Storable reports whether the page may set a key.
func Storable(key string) bool {
	return !slices.ContainsFunc(beneath, func(b string) bool { return key == b || strings.HasPrefix(key, b+".") })
}

// read overrides values with stored ones. A key that there is no more is left out.
func (s Stored) read(c *Config) error {
	var errs []error
	for _, l := range leaves(reflect.ValueOf(c).Elem(), "") {
		text, ok := s[l.path]
		if !ok || !Storable(l.path) {
			continue
		}
		c.given(l.path, Origin{Layer: FromPage})
		if err := l.fromEnvironment(l.variable(), text); err != nil {
			errs = append(errs, fmt.Errorf("%s, set on the page: %w", l.path, err))
		}
	}
	return errors.Join(append(errs, c.harmless())...)
}

// harmless returns an error if a stored value would start a program or read a file of the machine: what is set in a
// browser must not be worth more than the session that set it.
func (c *Config) harmless() error {
	if c.Origin("agent.mcp_servers").Layer == FromPage &&
		slices.ContainsFunc(c.Agent.MCPServers, func(s MCPServer) bool { return s.Command != "" }) {
		return errors.New("agent.mcp_servers: a server that is a program can be set in the file only")
	}
	if c.Origin("day_ahead.calendars").Layer == FromPage &&
		slices.ContainsFunc(c.DayAhead.Calendars, func(s CalendarSource) bool { return strings.HasPrefix(string(s.URL), "/") }) {
		return errors.New("day_ahead.calendars: a calendar that is a file can be set in the file only")
	}
	return nil
}

// given notes where a value comes from.
func (c *Config) given(key string, o Origin) {
	if c.Origins == nil {
		c.Origins = map[string]Origin{}
	}
	c.Origins[key] = o
}

// Origin returns where the value of a key comes from.
func (c Config) Origin(key string) Origin { return c.Origins[key] }

// Setting is a key with its value, as it is in force.
type Setting struct {
	Key    string
	Value  string // as in the environment; *** for a secret
	Secret bool
	Origin Origin
}

// Settings lists every key, in the order of the example.
func (c Config) Settings() []Setting {
	var out []Setting
	for _, l := range leaves(reflect.ValueOf(&c).Elem(), "") {
		out = append(out, Setting{l.path, l.text(), l.hidden(), c.Origin(l.path)})
	}
	return out
}

// hidden reports whether the value is a secret, or holds nothing else.
func (l leaf) hidden() bool {
	return l.secret() || l.value.Type() == reflect.TypeFor[map[string]Secret]()
}

// text returns the value as the environment has it, without secrets.
func (l leaf) text() string {
	switch v := l.value.Interface().(type) {
	case []string:
		return strings.Join(v, ",")
	case fmt.Stringer: // durations, sizes, secrets
		return v.String()
	}
	switch l.value.Kind() {
	case reflect.Slice, reflect.Map:
		if l.value.Len() == 0 {
			return ""
		}
		b, err := yaml.MarshalWithOptions(l.value.Interface(), yaml.Flow(true))
		if err != nil {
			return "…" // a value of these types always is YAML
		}
		return strings.TrimSpace(string(b))
	}
	return fmt.Sprint(l.value.Interface())
}

// YAML returns the stored values as a configuration file, with their secrets or with *** in their place.
func (s Stored) YAML(secrets bool, sections ...section.Section) ([]byte, error) {
	c := Default(sections...)
	if err := s.read(&c); err != nil {
		return nil, redact(err)
	}
	root := yaml.MapSlice{}
	for _, l := range leaves(reflect.ValueOf(&c).Elem(), "") {
		if _, ok := s[l.path]; ok {
			root = put(root, strings.Split(l.path, "."), plainly(l.value, secrets))
		}
	}
	return yaml.Marshal(root)
}

// put puts a value below a path of keys.
func put(m yaml.MapSlice, path []string, v any) yaml.MapSlice {
	i := slices.IndexFunc(m, func(e yaml.MapItem) bool { return e.Key == path[0] })
	if len(path) == 1 {
		return append(m, yaml.MapItem{Key: path[0], Value: v})
	}
	if i < 0 {
		return append(m, yaml.MapItem{Key: path[0], Value: put(nil, path[1:], v)})
	}
	m[i].Value = put(m[i].Value.(yaml.MapSlice), path[1:], v)
	return m
}

// plainly returns a value for YAML without what is empty, its secrets in plain text or as ***.
func plainly(v reflect.Value, secrets bool) any {
	switch x := v.Interface().(type) {
	case Secret:
		if secrets {
			return string(x)
		}
		return x.String()
	case fmt.Stringer:
		return x.String()
	}
	switch v.Kind() {
	case reflect.Struct:
		out := yaml.MapSlice{}
		for _, f := range fields(v) {
			if !f.value.IsZero() {
				out = append(out, yaml.MapItem{Key: f.key, Value: plainly(f.value, secrets)})
			}
		}
		return out
	case reflect.Slice:
		out := make([]any, v.Len())
		for i := range out {
			out[i] = plainly(v.Index(i), secrets)
		}
		return out
	case reflect.Map:
		out := yaml.MapSlice{}
		names := v.MapKeys()
		slices.SortFunc(names, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, name := range names {
			out = append(out, yaml.MapItem{Key: name.String(), Value: plainly(v.MapIndex(name), secrets)})
		}
		return out
	}
	return v.Interface()
}

// Text returns a value of a list or a map of the configuration as Stored holds it, with its secrets.
func Text(v any) (string, error) {
	b, err := yaml.MarshalWithOptions(plainly(reflect.ValueOf(v), true), yaml.Flow(true))
	return strings.TrimSpace(string(b)), err
}

// Set returns s with changes, of which an empty text removes a key. An error says which key cannot be set, and why.
func (s Stored) Set(changes map[string]string, sections ...section.Section) (Stored, error) {
	out, c := maps.Clone(s), Default(sections...)
	if out == nil {
		out = Stored{}
	}
	keys := c.Keys()
	for key, text := range changes {
		switch {
		case !slices.Contains(keys, key):
			return nil, fmt.Errorf("there is no key %s%s", key, hint(key, keys))
		case !Storable(key):
			return nil, fmt.Errorf("%s is set in the file or in the environment", key)
		case text == "":
			delete(out, key)
		default:
			out[key] = text
		}
	}
	return out, redact(out.read(&c))
}
