package configs

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// parse reads a file's text into c. Errors name the line and the key, and never quote the
// file, which may hold a secret.
func (c *Config) parse(text []byte) error {
	root, err := parseYAML(text)
	if err != nil || root == nil {
		return err
	}
	given := func(path string) { c.given(path, Origin{Layer: FromFile}) }
	return errors.Join(decoder{c.Keys(), given}.decode(reflect.ValueOf(c).Elem(), root, "")...)
}

// fromYAML reads a list of maps from an environment variable.
func (l leaf) fromYAML(text string) error {
	root, err := parseYAML([]byte(text))
	if err != nil || root == nil {
		return err
	}
	return errors.Join(decoder{given: func(string) {}}.decode(l.value, root, l.path)...)
}

// parseYAML returns the root of the only document, nil if it is empty.
func parseYAML(text []byte) (root ast.Node, err error) {
	defer func() {
		if recover() != nil { // the parser panics on some malformed input
			err = errors.New("this is not YAML")
		}
	}()
	f, err := parser.ParseBytes(text, 0)
	if err != nil {
		return nil, plain(err)
	}
	for _, d := range f.Docs {
		if d.Body == nil || d.Body.Type() == ast.NullType {
			continue
		}
		if root != nil {
			return nil, errors.New("there is more than one document; keep one")
		}
		root = d.Body
	}
	return root, nil
}

// plain removes the quoted lines from an error of the parser.
func plain(err error) error {
	e, ok := errors.AsType[yaml.Error](err)
	if !ok {
		return errors.New("this is not YAML")
	}
	if t := e.GetToken(); t != nil && t.Position != nil {
		return fmt.Errorf("line %d: %s", t.Position.Line, e.GetMessage())
	}
	return errors.New(e.GetMessage())
}

// line prefixes an error with where it is.
func line(n ast.Node, err error) error {
	if t := n.GetToken(); t != nil && t.Position != nil {
		return fmt.Errorf("line %d: %w", t.Position.Line, err)
	}
	return err
}

// decoder reads nodes into values. keys are the candidates for a misspelt one; given is told the path of each value.
type decoder struct {
	keys  []string
	given func(path string)
}

// decode writes a node into v, and collects everything that is wrong in it.
func (d decoder) decode(v reflect.Value, n ast.Node, path string) []error {
	switch n.Type() {
	case ast.NullType:
		return nil // as if the key were not there
	case ast.AnchorType, ast.AliasType, ast.TagType, ast.MergeKeyType:
		return []error{line(n, fmt.Errorf("%s: anchors, aliases and tags are not understood; write the value itself", path))}
	}
	if v.Kind() == reflect.Struct {
		return d.decodeMap(v, n, path)
	}
	d.given(path)
	switch v.Kind() {
	case reflect.Slice:
		return d.decodeList(v, n, path)
	case reflect.Map:
		return d.decodeNames(v, n, path)
	}
	text, ok := scalar(n)
	if !ok {
		return []error{line(n, fmt.Errorf("%s wants one value, not a map or a list", path))}
	}
	if err := set(v, text); err != nil {
		return []error{line(n, fmt.Errorf("%s: %w", path, err))}
	}
	return nil
}

func entries(n ast.Node, path string) ([]*ast.MappingValueNode, error) {
	switch m := n.(type) {
	case *ast.MappingNode:
		return m.Values, nil
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{m}, nil
	}
	return nil, line(n, fmt.Errorf("%s wants keys and values", cmp.Or(path, "the file")))
}

func (d decoder) decodeMap(v reflect.Value, n ast.Node, path string) []error {
	entries, err := entries(n, path)
	if err != nil {
		return []error{err}
	}
	var errs []error
	for _, e := range entries {
		key := e.Key.GetToken().Value
		field, ok := child(v, key)
		if of, file := strings.CutSuffix(key, "_file"); !ok && file {
			if secret, known := child(v, of); known && secret.Type() == reflect.TypeFor[Secret]() {
				d.given(join(path, of))
				errs = append(errs, fromFile(secret, e.Value, join(path, key))...)
				continue
			}
		}
		if !ok {
			errs = append(errs, line(e.Key, d.unknown(v, path, key)))
			continue
		}
		errs = append(errs, d.decode(field, e.Value, join(path, key))...)
	}
	return errs
}

// fromFile reads a secret from the file that a node names.
func fromFile(secret reflect.Value, n ast.Node, path string) []error {
	name, ok := scalar(n)
	b, err := os.ReadFile(name)
	switch {
	case n.Type() == ast.NullType:
		return nil
	case !ok, err != nil:
		return []error{line(n, fmt.Errorf("%s: the file cannot be read", path))}
	}
	secret.SetString(strings.TrimSpace(string(b)))
	return nil
}

// unknown reports an unknown key, and which one is probably meant: one beside it, or one elsewhere.
func (d decoder) unknown(v reflect.Value, path, key string) error {
	if n := nearest(key, siblings(v)); n != "" {
		return fmt.Errorf("there is no key %s; did you mean %s?", join(path, key), join(path, n))
	}
	return fmt.Errorf("there is no key %s%s", join(path, key), hint(join(path, key), d.keys))
}

// decodeNames reads a map with any keys, such as an environment.
func (d decoder) decodeNames(v reflect.Value, n ast.Node, path string) []error {
	entries, err := entries(n, path)
	if err != nil {
		return []error{err}
	}
	var errs []error
	out := reflect.MakeMap(v.Type())
	for _, e := range entries {
		key, value := e.Key.GetToken().Value, reflect.New(v.Type().Elem()).Elem()
		errs = append(errs, d.decode(value, e.Value, join(path, key))...)
		out.SetMapIndex(reflect.ValueOf(key), value)
	}
	if len(entries) == 0 {
		out = reflect.Zero(v.Type())
	}
	v.Set(out)
	return errs
}

func (d decoder) decodeList(v reflect.Value, n ast.Node, path string) []error {
	s, ok := n.(*ast.SequenceNode)
	if !ok {
		return []error{line(n, fmt.Errorf("%s wants a list, such as [a, b]", path))}
	}
	out := reflect.MakeSlice(v.Type(), len(s.Values), len(s.Values))
	var errs []error
	for i, e := range s.Values {
		errs = append(errs, d.decode(out.Index(i), e, fmt.Sprintf("%s[%d]", path, i))...)
	}
	if len(s.Values) == 0 {
		out = reflect.Zero(v.Type())
	}
	v.Set(out)
	return errs
}

// scalar returns the text of a single value.
func scalar(n ast.Node) (string, bool) {
	switch s := n.(type) {
	case *ast.StringNode:
		return s.Value, true
	case *ast.LiteralNode:
		return s.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value, true
	}
	return "", false
}
