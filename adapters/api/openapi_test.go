package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/chat/live"
	"github.com/everthread/everthread/core/effect"
)

type object = map[string]any

func description(t testing.TB) object {
	t.Helper()
	text, err := os.ReadFile("openapi.yaml")
	check(t, err)
	data, err := yaml.YAMLToJSON(text)
	check(t, err)
	var doc object
	check(t, json.Unmarshal(data, &doc))
	return doc
}

// seen checks answers against the description, and records which parts of it occurred.
type seen struct {
	t       testing.TB
	doc     object
	shapes  map[string]*jsonschema.Resolved
	answers map[string]bool // method, path and status
	fields  map[string]bool // schema and field
}

func newSeen(t testing.TB) *seen {
	return &seen{t: t, doc: description(t), shapes: map[string]*jsonschema.Resolved{}, answers: map[string]bool{},
		fields: map[string]bool{}}
}

// operation returns the description of a request, and its path there.
func (s *seen) operation(method, path string) (string, object) {
	best := ""
	for template := range s.doc["paths"].(object) {
		pattern := "^" + regexp.MustCompile(`\{\w+\}`).ReplaceAllString(template, `[^/]+`) + "$"
		if regexp.MustCompile(pattern).MatchString(path) && (best == "" || strings.Contains(best, "{")) {
			best = template
		}
	}
	if best == "" {
		return "", nil
	}
	op, _ := s.doc["paths"].(object)[best].(object)[strings.ToLower(method)].(object)
	return best, op
}

// take checks one answer.
func (s *seen) take(method, path string, status int, media string, body []byte) {
	s.t.Helper()
	template, op := s.operation(method, path)
	if op == nil {
		if status != 404 && status != 405 {
			s.t.Errorf("%s %s: %d, but the description does not know it", method, path, status)
		}
		return
	}
	responses := op["responses"].(object)
	response, ok := responses[fmt.Sprint(status)].(object)
	if !ok {
		response, ok = responses["default"].(object)
	}
	if !ok {
		s.t.Errorf("%s %s: status %d is not in the description", method, template, status)
		return
	}
	if ref, ok := response["$ref"].(string); ok {
		response = s.doc["components"].(object)["responses"].(object)[ref[strings.LastIndex(ref, "/")+1:]].(object)
	}
	s.answers[fmt.Sprintf("%s %s %d", method, template, status)] = true
	content, ok := response["content"].(object)[media].(object)
	if !ok {
		s.t.Errorf("%s %s: the description has no %s", method, template, media)
		return
	}
	if schema, ok := content["schema"]; ok {
		var v any
		check(s.t, json.Unmarshal(body, &v))
		if err := s.validate(schema, v); err != nil {
			s.t.Errorf("%s %s: %d %s\n%v", method, path, status, body, err)
		}
		s.note(schema.(object), v)
	}
}

// validate checks a value against a schema.
func (s *seen) validate(schema any, v any) error {
	text, err := json.Marshal(schema)
	check(s.t, err)
	r := s.shapes[string(text)]
	if r == nil {
		defs, err := json.Marshal(s.doc["components"].(object)["schemas"])
		check(s.t, err)
		whole := strings.ReplaceAll(fmt.Sprintf(`{"allOf":[%s],"$defs":%s}`, text, defs), "#/components/schemas/", "#/$defs/")
		var shape jsonschema.Schema
		check(s.t, json.Unmarshal([]byte(whole), &shape))
		r, err = shape.Resolve(nil)
		check(s.t, err)
		s.shapes[string(text)] = r
	}
	return r.Validate(v)
}

// note marks the fields of named schemas that a value has.
func (s *seen) note(schema object, v any) {
	if ref, ok := schema["$ref"].(string); ok {
		name := ref[strings.LastIndex(ref, "/")+1:]
		named := s.doc["components"].(object)["schemas"].(object)[name].(object)
		if fields, ok := v.(object); ok {
			for f := range fields {
				s.fields[name+"."+f] = true
			}
		}
		s.note(named, v)
		return
	}
	for _, several := range []string{"allOf", "oneOf"} {
		all, _ := schema[several].([]any)
		for _, one := range all {
			if several == "allOf" || s.validate(one, v) == nil {
				s.note(one.(object), v)
			}
		}
	}
	if items, ok := schema["items"].(object); ok {
		list, _ := v.([]any)
		for _, x := range list {
			s.note(items, x)
		}
	}
	properties, _ := schema["properties"].(object)
	fields, _ := v.(object)
	for name, p := range properties {
		if x, ok := fields[name]; ok {
			s.note(p.(object), x)
		}
	}
}

// TestDescription checks that every route is described and works as described, and every possible
// answer and described field occurs.
func TestDescription(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.seen = newSeen(t)
	w.visit()

	var unseen []string
	for path, methods := range w.seen.doc["paths"].(object) {
		for method, op := range methods.(object) {
			for status := range op.(object)["responses"].(object) {
				key := strings.ToUpper(method) + " " + path + " " + status
				if status != "default" && !w.seen.answers[key] {
					unseen = append(unseen, key)
				}
			}
		}
	}
	for name, schema := range w.seen.doc["components"].(object)["schemas"].(object) {
		if strings.HasSuffix(name, "Request") || name == "NewItem" || name == "NewInstruction" {
			continue
		}
		fields, _ := schema.(object)["properties"].(object)
		for f := range fields {
			if !w.seen.fields[name+"."+f] {
				unseen = append(unseen, "field "+name+"."+f)
			}
		}
	}
	slices.Sort(unseen)
	// Without embeddings, an item has none and nothing is found by meaning. Days of one page
	// are never continued. No message has a file.
	allowed := []string{"field Hit.attachment", "field Hit.from_message_id", "field Hit.name", "field Hit.page",
		"field Hit.to_message_id", "field Item.embedding",
		"field KeptItem.embedding", "field Messages.next_from_message_id"}
	for _, u := range unseen {
		if !slices.Contains(allowed, u) {
			t.Errorf("described, but never seen: %s", u)
		}
	}
}

// lookedUp returns the steps of a turn that searched the web and read a page.
func lookedUp(at time.Time) []core.NewMessage {
	out := []core.NewMessage{{Role: core.RoleAssistant, Kind: core.KindChat, Tokens: 9, SentAt: at, ToolCalls: []core.ToolCall{
		{ID: "1", Name: "web_search", Arguments: `{"query":"weather"}`}, {ID: "2", Name: "web_read", Arguments: `{"url":"https://w.example/"}`}}}}
	for id, text := range []string{`{"query":"weather","provider":"Brave","results":[]}`, `{"title":"W","url":"https://w.example/","text":"Rain."}`} {
		out = append(out, core.NewMessage{Role: core.RoleTool, Kind: core.KindChat, Text: text, Tokens: 9, SentAt: at, Outside: true,
			Tainted: true, ToolCallID: fmt.Sprint(id + 1), ToolName: []string{"web_search", "web_read"}[id]})
	}
	return out
}

// visit sends a request of every kind, and failing ones of every kind.
func (w *world) visit() {
	ada := w.ada
	for _, path := range []string{"/api/openapi.yaml", "/api/v1/days", "/api/v1/days?limit=1", "/api/v1/days/2026-11-21",
		"/api/v1/days/2026-11-21?limit=1", "/api/v1/conversation/search?query=kestrel",
		"/api/v1/conversation/search?query=named", "/api/v1/conversation/search?query=noted",
		"/api/v1/conversation/search?query=zebra", fmt.Sprintf("/api/v1/conversation/messages?message_id=%d", ada.message),
		fmt.Sprintf("/api/v1/conversation/messages?day_segment_id=%d", ada.segment),
		fmt.Sprintf("/api/v1/conversation/messages?day_segment_id=%d&from_message_id=1&to_message_id=99", ada.segment),
		"/api/v1/memory", "/api/v1/memory?query=kestrel", "/api/v1/memory/themes", fmt.Sprintf("/api/v1/memory/%d", ada.item),
		fmt.Sprintf("/api/v1/turns/%d/context", ada.turn)} {
		w.get2(path)
	}
	i, _, err := w.Identify(context.Background(), core.Address{Channel: "telegram", Account: "1", External: "Ada"})
	check(w.t, err)
	_, _, looked := w.say(i, w.now.Add(time.Minute), "the weather?", "Rain.", lookedUp(w.now)...)
	w.get2(fmt.Sprintf("/api/v1/turns/%d/context", looked))
	wish := core.Instruction{Text: "be brief", Tokens: 9, Source: ada.message}
	_, err = w.Act(context.Background(), ada.ID, effect.AddInstruction{Instruction: wish, Digest: "be brief"})
	check(w.t, err)
	w.get2("/api/v1/standing")
	wishes, err := w.Instructions(context.Background(), ada.ID)
	check(w.t, err)
	for _, c := range []struct{ path, body string }{
		{"/api/v1/standing", `{"text":"be kind"}`}, {"/api/v1/standing", `{"text":"Be brief!"}`},
		{fmt.Sprintf("/api/v1/standing/%d/remove", wishes[0].ID), ""},
		{"/api/v1/chat", `{"message":"a","session_id":"b"}`},
		{"/api/v1/memory", `{"content":"The dinghy Kestrel is called quick.","theme":"boats birds"}`},
		{"/api/v1/memory", `{"content":"The dinghy Kestrel is called quick."}`}, {"/api/v1/days/2026-11-21/summary", ""},
		{fmt.Sprintf("/api/v1/memory/%d/archive", ada.item), ""},
	} {
		if res, text := w.call(ada, "POST", c.path, c.body); res.StatusCode >= 300 {
			w.t.Errorf("%s: %d %s", c.path, res.StatusCode, text)
		}
	}
	for _, path := range []string{"/api/v1/days/2026-02-30", "/api/v1/days?x=1", "/api/v1/conversation/search",
		"/api/v1/conversation/messages", "/api/v1/memory?status=x", "/api/v1/memory/0", "/api/v1/turns/0/context"} {
		w.call(ada, "GET", path, "")
	}
	w.call(ada, "POST", "/api/v1/chat", "{}")
	w.call(ada, "POST", "/api/v1/chat", `{"message":"`+strings.Repeat("x", 2<<20)+`"}`)
	w.call(person{}, "POST", "/api/v1/chat", "{}")
	w.call(person{key: w.newKey(ada.User, "read")}, "POST", "/api/v1/chat", "{}")
	for _, err := range []error{&live.OverBudget{Until: w.now.Add(time.Hour)}, &live.Failed{}, &live.Failed{Stopped: true},
		fmt.Errorf("wait: %w", errDeadline())} {
		w.fail = err
		w.call(ada, "POST", "/api/v1/chat", `{"message":"a"}`)
	}
}

func (w *world) get2(path string) {
	w.t.Helper()
	if res, text := w.call(w.ada, "GET", path, ""); res.StatusCode != 200 {
		w.t.Errorf("%s: %d %s", path, res.StatusCode, text)
	}
}

// TestDescription_hasEveryRoute checks that the description and the handlers have the same routes.
func TestDescription_hasEveryRoute(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	want := []string{"GET /api/openapi.yaml", "GET /api/v1/conversation/messages", "GET /api/v1/conversation/search",
		"GET /api/v1/days", "GET /api/v1/days/{label}", "GET /api/v1/memory", "GET /api/v1/memory/themes",
		"GET /api/v1/memory/{id}", "GET /api/v1/standing", "GET /api/v1/turns/{id}/context", "POST /api/v1/chat",
		"POST /api/v1/days/{label}/summary", "POST /api/v1/memory", "POST /api/v1/memory/{id}/archive",
		"POST /api/v1/standing", "POST /api/v1/standing/{id}/remove"}
	var got []string
	ids := map[string]bool{}
	for path, methods := range description(t)["paths"].(object) {
		for method, op := range methods.(object) {
			got = append(got, strings.ToUpper(method)+" "+path)
			if id := op.(object)["operationId"].(string); ids[id] {
				t.Errorf("two operations are called %s", id)
			} else {
				ids[id] = true
			}
		}
		for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
			url := strings.NewReplacer("{label}", "2026-11-21", "{id}", "1").Replace(path)
			res, _ := w.call(person{}, method, url, "")
			if _, described := methods.(object)[strings.ToLower(method)]; described == (res.StatusCode == 405) {
				t.Errorf("%s %s: %d, described: %v", method, path, res.StatusCode, described)
			}
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("described are\n%s", strings.Join(got, "\n"))
	}
}

func errDeadline() error { return context.DeadlineExceeded }
