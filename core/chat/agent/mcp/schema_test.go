package mcp

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/chat/agent/tooltest"
)

func read(t testing.TB, text string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// TestSchemaOf_tidies checks that schemas of servers become ones that providers accept.
func TestSchemaOf_tidies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, given, want string }{
		{"an enum without a type", `{"properties":{"unit":{"enum":["C","F"]}}}`,
			`{"type":"object","properties":{"unit":{"type":"string","enum":["C","F"]}}}`},
		{"an enum of several types", `{"properties":{"n":{"enum":[1,"all",null]}}}`,
			`{"type":"object","properties":{"n":{"type":["number","string","null"],"enum":[1,"all",null]}}}`},
		{"composition at the root",
			`{"type":"object","properties":{"a":{"type":"string"}},"anyOf":[{"required":["a"]}],"if":{},"then":{}}`,
			`{"type":"object","properties":{"a":{"type":"string"}}}`},
		{"composition within", `{"properties":{"a":{"anyOf":[{"enum":["x"]},{"type":"null"}]}}}`,
			`{"type":"object","properties":{"a":{"anyOf":[{"type":"string","enum":["x"]},{"type":"null"}]}}}`},
		{"a reference",
			`{"properties":{"at":{"$ref":"#/$defs/Point","description":"where"}},"$defs":{"Point":{"type":"object","properties":{"x":{"type":"number"}}}}}`, `{"type":"object","properties":{"at":{"type":"object","properties":{"x":{"type":"number"}},"description":"where"}}}`},
		{"a reference at the root",
			`{"$ref":"#/definitions/Args","definitions":{"Args":{"type":"object","properties":{"a":{"type":"string"}}}}}`,
			`{"type":"object","properties":{"a":{"type":"string"}}}`},
		{"a reference to nothing", `{"properties":{"a":{"$ref":"https://example.com/x"}}}`,
			`{"type":"object","properties":{"a":{}}}`},
		{"an array of anything", `{"properties":{"a":{"type":"array"}}}`,
			`{"type":"object","properties":{"a":{"type":"array","items":{}}}}`},
		{"parameters named as keywords are", `{"properties":{"enum":{"type":"string"},"$defs":true}}`, ""},
		{"parameters named as keywords", `{"properties":{"enum":{"type":"string"},"items":true}}`,
			`{"type":"object","properties":{"enum":{"type":"string"},"items":{}}}`},
	} {
		got, err := schemaOf(read(t, c.given))
		if c.want == "" {
			if err == nil {
				t.Errorf("%s: got %s", c.name, got)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if d := cmp.Diff(read(t, c.want), read(t, string(got))); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
		tooltest.Check(t, core.ToolSpec{Name: "a", Description: "b", Schema: got})
	}
}

func TestSchemaOf_selfReferenceEnds(t *testing.T) {
	t.Parallel()
	tree := `{"properties":{"a":{"$ref":"#/$defs/T"},"b":{"$ref":"#/$defs/T"}},"$defs":{"T":{"type":"object","properties":{"l":{"$ref":"#/$defs/T"},"m":{"$ref":"#/$defs/T"},"r":{"$ref":"#/$defs/T"}}}}}`
	got, err := schemaOf(read(t, tree))
	if err != nil || len(got) > longestSchema {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	long := `{"properties":{"a":{"description":"` + strings.Repeat("x", longestSchema) + `"}}}`
	if _, err := schemaOf(read(t, long)); err == nil {
		t.Error("an endless schema is accepted")
	}
}

func FuzzSchemaOf(f *testing.F) {
	for _, s := range []string{`{"properties":{"a":{"$ref":"#"}}}`,
		`{"$ref":"#/properties/a","properties":{"a":{"items":[{"enum":[[]]}]}}}`, `{"required":[1]}`, `{"allOf":{}}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var v any
		if json.Unmarshal([]byte(s), &v) != nil {
			return
		}
		got, err := schemaOf(v)
		if err != nil {
			return
		}
		var out map[string]any
		if json.Unmarshal(got, &out) != nil || out["type"] != "object" || strings.Contains(string(got), `"$ref":"#`) &&
			!strings.Contains(s, `\\`) && out["anyOf"] != nil {
			t.Fatalf("%s becomes %s", s, got)
		}
	})
}
