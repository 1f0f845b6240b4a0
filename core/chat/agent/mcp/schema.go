package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// schemaOf returns a schema in the form that model providers accept (see package tooltest):
// an object with properties, without references, without composition at the root, with a
// type beside every enum. The server checks the constraints that are left out.
func schemaOf(given any) (json.RawMessage, error) {
	if given == nil {
		given = map[string]any{}
	}
	schema, ok := given.(map[string]any)
	if !ok {
		return nil, errors.New("its schema is no JSON object")
	}
	if kind, given := schema["type"]; given && kind != "object" {
		return nil, fmt.Errorf("its input is not an object but %.40v", kind)
	}
	out := map[string]any{}
	for key, value := range schema {
		if value != nil && !slices.Contains([]string{"oneOf", "anyOf", "allOf", "not", "enum", "if", "then", "else"}, key) {
			out[key] = value
		}
	}
	out["type"] = "object"
	if list, ok := out["properties"].([]any); out["properties"] == nil || ok && len(list) == 0 {
		out["properties"] = map[string]any{}
	}
	if err := checkProperties(out); err != nil {
		return nil, err
	}
	tidy := (&tidier{root: schema}).tidy(out, 0)
	tidy["type"] = "object"
	if tidy["properties"] == nil { // the root was a reference
		tidy["properties"] = map[string]any{}
	}
	text, err := json.Marshal(tidy)
	if err != nil {
		return nil, fmt.Errorf("write schema: %w", err)
	}
	if len(text) > longestSchema {
		return nil, fmt.Errorf("its schema has %d bytes; at most %d can be sent", len(text), longestSchema)
	}
	return text, nil
}

// longestSchema bounds a schema with its references expanded, in bytes.
const longestSchema = 64 << 10

// propertyName matches the names of parameters that every provider accepts.
var propertyName = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)

// checkProperties refuses schemas for which a provider would refuse the whole prompt.
func checkProperties(schema map[string]any) error {
	properties, ok := schema["properties"].(map[string]any)
	if !ok {
		return errors.New("the properties of its schema are no object")
	}
	for name, p := range properties {
		_, isSchema := p.(map[string]any)
		if _, isBool := p.(bool); !isSchema && !isBool {
			return fmt.Errorf("its schema says nothing sensible about %.40q", name)
		}
		if !propertyName.MatchString(name) {
			return fmt.Errorf("its parameter %.80q has a name that models cannot be told", name)
		}
	}
	required, _ := schema["required"].([]any)
	for _, name := range required {
		if _, ok := name.(string); !ok {
			return errors.New("what its schema requires are no names")
		}
	}
	if schema["required"] != nil && required == nil {
		return errors.New("what its schema requires is no list")
	}
	return nil
}

// tidier rewrites the schemas within a server's schema. Its work is bounded: schemas beyond
// the depth or the number accept anything.
type tidier struct {
	root map[string]any
	n    int
}

const (
	deepestSchema = 8
	mostSchemas   = 500
)

// tidy returns a schema with references expanded and missing types added.
func (t *tidier) tidy(s map[string]any, depth int) map[string]any {
	if t.n++; depth > deepestSchema || t.n > mostSchemas {
		return map[string]any{}
	}
	if ref, ok := s["$ref"].(string); ok {
		out := maps.Clone(t.tidy(t.lookup(ref), depth+1))
		if s["description"] != nil {
			out["description"] = s["description"]
		}
		return out
	}
	out := map[string]any{}
	for key, value := range s {
		switch key {
		case "$schema", "$defs", "definitions", "$id", "$anchor", "$ref", "$dynamicRef", "$dynamicAnchor":
		case "properties", "patternProperties":
			out[key] = t.each(value, depth)
		case "anyOf", "oneOf", "allOf", "prefixItems":
			out[key] = t.list(value, depth)
		case "items", "additionalProperties", "contains", "not":
			out[key] = t.one(value, depth)
		default:
			out[key] = value
		}
	}
	if values, ok := out["enum"].([]any); ok && out["type"] == nil {
		out["type"] = typeOf(values)
	}
	if _, ok := out["items"].(map[string]any); out["type"] == "array" && !ok {
		out["items"] = map[string]any{}
	}
	return out
}

// lookup returns the schema that a reference names, or one that accepts anything.
func (t *tidier) lookup(ref string) map[string]any {
	at, ok := strings.CutPrefix(ref, "#")
	found := any(t.root)
	for _, step := range strings.Split(strings.TrimPrefix(at, "/"), "/") {
		if object, is := found.(map[string]any); is && step != "" {
			found = object[strings.NewReplacer("~1", "/", "~0", "~").Replace(step)]
		}
	}
	object, is := found.(map[string]any)
	if !ok || !is {
		return map[string]any{}
	}
	return object
}

// one tidies a schema; true and false are schemas, too.
func (t *tidier) one(v any, depth int) any {
	if s, ok := v.(map[string]any); ok {
		return t.tidy(s, depth+1)
	}
	return v
}

func (t *tidier) each(v any, depth int) any {
	schemas, ok := v.(map[string]any)
	if !ok {
		return v
	}
	out := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(schemas)) {
		if out[name] = t.one(schemas[name], depth); out[name] == true {
			out[name] = map[string]any{}
		}
	}
	return out
}

func (t *tidier) list(v any, depth int) any {
	schemas, ok := v.([]any)
	if !ok {
		return v
	}
	out := make([]any, len(schemas))
	for i, s := range schemas {
		out[i] = t.one(s, depth)
	}
	return out
}

// typeOf returns the type of the values of an enum, or a list of their types.
func typeOf(values []any) any {
	var out []any
	for _, v := range values {
		kind := "object"
		switch v.(type) {
		case string:
			kind = "string"
		case bool:
			kind = "boolean"
		case float64, json.Number:
			kind = "number"
		case nil:
			kind = "null"
		case []any:
			kind = "array"
		}
		if !slices.Contains(out, any(kind)) {
			out = append(out, kind)
		}
	}
	if len(out) == 1 {
		return out[0]
	}
	return out
}
