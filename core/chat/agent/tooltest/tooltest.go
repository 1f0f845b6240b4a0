// Package tooltest checks descriptions of tools against the published schema rules of model
// providers.
//
// All require a JSON schema whose root is an object. OpenAI requires names of letters, digits, _
// and -, up to 64; descriptions of at most 1,024 characters; a type beside every enum, matching its
// values; items in every array; and no composition at the root. Anthropic allows no oneOf, anyOf or
// allOf at the root and no $ref anywhere, and requires property names of letters, digits, _, . and
// -, up to 64.
//
// OpenAI's strict mode is not checked: it also requires every property to be required and objects
// to be closed, and most of our parameters are optional. Servers that are strict by default accept
// the rest.
package tooltest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/everthread/everthread/core"
)

var (
	toolName     = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	propertyName = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)
)

// Limits of OpenAI.
const (
	longestDescription = 1024
	deepest            = 10
	mostValues         = 1000
)

// Check reports the faults of a tool as errors of t.
func Check(t testing.TB, spec core.ToolSpec) {
	t.Helper()
	for _, fault := range Faults(spec) {
		t.Errorf("%s: %s", spec.Name, fault)
	}
}

// Faults lists the reasons why providers would refuse a tool.
func Faults(spec core.ToolSpec) []string {
	c := &checker{}
	if !toolName.MatchString(spec.Name) {
		c.fault("", "the name is none of a tool")
	}
	if n := utf8.RuneCountInString(spec.Description); n == 0 || n > longestDescription {
		c.fault("", "the description has %d characters", n)
	}
	var root map[string]any
	if err := json.Unmarshal(spec.Schema, &root); err != nil {
		c.fault("", "the schema is no JSON object: %v", err)
		return c.faults
	}
	if root["type"] != "object" {
		c.fault("", "the root is no object but %v", root["type"])
	}
	for _, key := range []string{"oneOf", "anyOf", "allOf", "not", "enum", "if"} {
		if root[key] != nil {
			c.fault("", "%s stands at the root", key)
		}
	}
	c.schema("", root, 0)
	return c.faults
}

type checker struct{ faults []string }

func (c *checker) fault(path, format string, args ...any) {
	c.faults = append(c.faults, fmt.Sprintf("at %q ", path)+fmt.Sprintf(format, args...))
}

// schema checks a schema and the schemas in it.
func (c *checker) schema(path string, s map[string]any, depth int) {
	if depth > deepest {
		c.fault(path, "it is nested too deep")
		return
	}
	for _, key := range []string{"$ref", "$defs", "definitions", "$schema"} {
		if s[key] != nil {
			c.fault(path, "it has %s", key)
		}
	}
	types := typesOf(s["type"])
	for _, kind := range types {
		if !slices.Contains([]string{"string", "number", "integer", "boolean", "object", "array", "null"}, kind) {
			c.fault(path, "%q is no type", kind)
		}
	}
	c.values(path, s, types)
	if _, ok := s["items"].(map[string]any); slices.Contains(types, "array") && !ok {
		c.fault(path, "an array does not say what of")
	}
	c.properties(path, s, depth)
	c.inner(path, s, depth)
}

// values checks an enum.
func (c *checker) values(path string, s map[string]any, types []string) {
	values, ok := s["enum"].([]any)
	switch {
	case s["enum"] == nil:
		return
	case !ok || len(values) == 0 || len(values) > mostValues:
		c.fault(path, "the enum is no list of values")
	case len(types) == 0:
		c.fault(path, "the enum has no type")
	}
	for _, v := range values {
		if !slices.ContainsFunc(types, func(kind string) bool { return is(v, kind) }) {
			c.fault(path, "%v is none of %v", v, types)
		}
	}
}

// properties checks the properties of an object.
func (c *checker) properties(path string, s map[string]any, depth int) {
	properties, ok := s["properties"].(map[string]any)
	if s["properties"] != nil && !ok {
		c.fault(path, "the properties are no object")
	}
	for name, p := range properties {
		inner, ok := p.(map[string]any)
		if !propertyName.MatchString(name) || !ok {
			c.fault(path, "%q is no property", name)
			continue
		}
		if inner["type"] == nil && inner["anyOf"] == nil && inner["oneOf"] == nil && inner["allOf"] == nil &&
			len(inner) > 0 && inner["const"] == nil && !onlyDescribed(inner) {
			c.fault(path+"/"+name, "it has no type")
		}
		c.schema(path+"/"+name, inner, depth+1)
	}
	required, ok := s["required"].([]any)
	if s["required"] != nil && !ok {
		c.fault(path, "what is required is no list")
	}
	for _, r := range required {
		if name, ok := r.(string); !ok || properties[name] == nil {
			c.fault(path, "%v is required and no property", r)
		}
	}
}

// onlyDescribed reports whether a schema accepts any value.
func onlyDescribed(s map[string]any) bool {
	for key := range s {
		if !slices.Contains([]string{"description", "title", "default", "examples"}, key) {
			return false
		}
	}
	return true
}

// inner checks the schemas within a schema.
func (c *checker) inner(path string, s map[string]any, depth int) {
	for _, key := range []string{"items", "additionalProperties"} {
		if inner, ok := s[key].(map[string]any); ok {
			c.schema(path+"/"+key, inner, depth+1)
		}
	}
	for _, key := range []string{"anyOf", "oneOf", "allOf"} {
		list, _ := s[key].([]any)
		for i, one := range list {
			if inner, ok := one.(map[string]any); ok {
				c.schema(fmt.Sprintf("%s/%s/%d", path, key, i), inner, depth+1)
			}
		}
	}
}

// typesOf returns a type, or a list of types, as a list.
func typesOf(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		var out []string
		for _, one := range v {
			out = append(out, fmt.Sprint(one))
		}
		return out
	}
	return nil
}

// is reports whether a value is of a type.
func is(v any, kind string) bool {
	switch v := v.(type) {
	case string:
		return kind == "string"
	case bool:
		return kind == "boolean"
	case float64:
		return kind == "number" || kind == "integer" && v == float64(int64(v))
	case nil:
		return kind == "null"
	}
	return kind == "object" || kind == "array"
}
