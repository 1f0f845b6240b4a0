package whatsapptest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/goccy/go-yaml"
	"github.com/google/jsonschema-go/jsonschema"
)

// HasDescription reports whether messages are checked against Meta's description of the
// API, which is next to the checkout in ../shared/data.
func HasDescription() bool { return published() != nil }

// kinds are the types of messages and their schemas.
var kinds = map[string]string{
	"text": "TextMessage", "image": "ImageMessage", "audio": "AudioMessage", "video": "VideoMessage",
	"document": "DocumentMessage", "template": "TemplateMessage", "interactive": "InteractiveMessage",
}

// published holds the compiled schema of each type of message. The description combines a
// strict part with a common one in a way that no message can satisfy, so both are merged.
// Fields that are documented elsewhere are added, and the pattern of a button's index is
// corrected.
var published = sync.OnceValue(func() map[string]*jsonschema.Resolved {
	raw, err := os.ReadFile(filepath.Join(root(), "..", "shared", "data", "whatsapp-business-messaging-v23.0.yaml"))
	if err != nil {
		return nil
	}
	var d struct {
		Components struct {
			Schemas map[string]map[string]any `yaml:"schemas"`
		} `yaml:"components"`
	}
	if yaml.Unmarshal(raw, &d) != nil {
		return nil
	}
	out := map[string]*jsonschema.Resolved{}
	for kind, name := range kinds {
		s, err := merged(d.Components.Schemas, name)
		if err != nil {
			panic(fmt.Sprintf("description of %s: %v", name, err))
		}
		out[kind] = s
	}
	return out
})

// root returns the folder of the module.
func root() string {
	dir, err := os.Getwd()
	for err == nil && filepath.Dir(dir) != dir {
		if _, missing := os.Stat(filepath.Join(dir, "go.mod")); missing == nil {
			return dir
		}
		dir = filepath.Dir(dir)
	}
	return ""
}

// merged returns the schema of a type of message with its parts merged.
func merged(all map[string]map[string]any, name string) (*jsonschema.Resolved, error) {
	properties := map[string]any{
		"recipient":                map[string]any{"type": "string", "minLength": 1},
		"biz_opaque_callback_data": map[string]any{"type": "string", "maxLength": 512},
	}
	required := []any{"messaging_product", "recipient_type", "type"}
	parts, _ := all[name]["allOf"].([]any)
	for _, p := range append(parts, all["BaseMessageProperties"]) {
		part, _ := p.(map[string]any)
		fields, _ := part["properties"].(map[string]any)
		for k, v := range fields {
			if _, there := properties[k]; !there {
				properties[k] = v
			}
		}
		for _, r := range asList(part["required"]) {
			if r != "to" { // "recipient" may replace it
				required = append(required, r)
			}
		}
	}
	whole := map[string]any{
		"type": "object", "additionalProperties": false, "properties": properties, "required": unique(required),
		"anyOf": []any{map[string]any{"required": []any{"to"}}, map[string]any{"required": []any{"recipient"}}},
		"$defs": all,
	}
	return resolve(whole)
}

func asList(v any) []any {
	list, _ := v.([]any)
	return list
}

func unique(list []any) []any {
	seen := map[any]bool{}
	var out []any
	for _, v := range list {
		if !seen[v] {
			out = append(out, v)
		}
		seen[v] = true
	}
	return out
}

// resolve returns a schema of the description in a valid form.
func resolve(whole map[string]any) (*jsonschema.Resolved, error) {
	raw, err := json.Marshal(prune(whole))
	if err != nil {
		return nil, err
	}
	text := strings.ReplaceAll(string(raw), "#/components/schemas/", "#/$defs/")
	text = strings.ReplaceAll(text, `^[2-6, 11-14]$`, `^[0-9]$`)
	var s jsonschema.Schema
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return nil, err
	}
	return s.Resolve(nil)
}

// prune removes the parts that are not JSON Schema, and the $defs that messages do not
// need.
func prune(v any) any {
	switch v := v.(type) {
	case map[string]map[string]any:
		out := map[string]any{}
		for _, name := range []string{"MessageContext", "MediaObject", "TemplateObject",
			"TemplateComponent", "LanguageObject", "ActionObject", "BodyObject", "FooterObject", "HeaderObject",
			"InteractiveObject", "SectionObject"} {
			out[name] = prune(v[name])
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for k, x := range v {
			if k != "discriminator" && k != "example" {
				out[k] = prune(x)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = prune(x)
		}
		return out
	}
	return v
}

// checkMessage checks the body of a message.
func checkMessage(body []byte) error {
	schemas := published()
	if schemas == nil {
		return nil
	}
	var m map[string]any
	if err := json.Unmarshal(body, &m); err != nil {
		return err
	}
	kind, _ := m["type"].(string)
	s, ok := schemas[kind]
	if !ok {
		return fmt.Errorf("type %q", kind)
	}
	return s.Validate(m)
}
