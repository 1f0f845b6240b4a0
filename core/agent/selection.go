package agent

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/everthread/everthread/core"
)

// MoreTools is the tool by which a model gets those that it was not told of.
const MoreTools = "tools_more"

// Selection chooses which tools of a set a model is told of, where the descriptions of all
// have no room. What it is not told of can be called all the same, and is had by MoreTools.
type Selection struct {
	all    *Registry
	order  []choice // the most useful first
	budget int
	tokens int // of all descriptions, as they are told
	whole  *Registry
	size   func(core.ToolSpec) int
}

// choice is a tool as it may be told.
type choice struct {
	core.ToolSpec
	tokens int
}

// Select returns the selection of a set whose descriptions may take budget tokens; 0: as
// many as they do. Where they take more, those of outside tools are shortened, then all,
// then the least useful are left out. rank is lower for more useful ones.
func Select(all *Registry, budget int, rank func(core.Tool) int, t core.Tokenizer) *Selection {
	s := &Selection{all: all, budget: budget,
		size: func(spec core.ToolSpec) int { return specsTokens([]core.ToolSpec{spec}, t) }}
	outside := func(spec core.ToolSpec) bool {
		x, ok := all.tools[spec.Name].(core.OutsideTool)
		return ok && x.Outside()
	}
	for _, shorten := range []func(core.ToolSpec) bool{
		func(core.ToolSpec) bool { return false }, outside, func(core.ToolSpec) bool { return true }} {
		s.order, s.tokens = nil, 0
		for _, spec := range all.Specs() {
			if shorten(spec) {
				spec = short(spec)
			}
			c := choice{spec, s.size(spec)}
			s.order, s.tokens = append(s.order, c), s.tokens+c.tokens
		}
		if s.Whole() {
			s.whole = &Registry{tools: all.tools, tokens: s.tokens}
			for _, c := range s.order {
				s.whole.specs = append(s.whole.specs, c.ToolSpec)
			}
			return s
		}
	}
	slices.SortStableFunc(s.order, func(x, y choice) int {
		return cmp.Compare(rank(all.tools[x.Name]), rank(all.tools[y.Name]))
	})
	return s
}

// Whole reports whether the model is told of every tool.
func (s *Selection) Whole() bool { return s.budget == 0 || s.tokens <= s.budget }

// Tokens is what the descriptions take at most.
func (s *Selection) Tokens() int {
	if s.Whole() {
		return s.tokens
	}
	return s.budget
}

// Set is all tools.
func (s *Selection) Set() *Registry { return s.all }

// Tools returns the set as the model is told of it. Tools of the names in needed are told
// before others.
func (s *Selection) Tools(needed ...string) *Registry {
	if s.Whole() {
		return s.whole
	}
	out := &Registry{tools: s.all.tools}
	var all, left []core.ToolSpec
	for _, c := range s.order {
		all = append(all, c.ToolSpec)
	}
	room := s.budget - s.size(s.moreOf(all))
	for _, first := range []bool{true, false} {
		for _, c := range s.order {
			switch {
			case slices.Contains(needed, c.Name) != first:
			case c.tokens <= room:
				out.specs, room = append(out.specs, c.ToolSpec), room-c.tokens
				out.tokens += c.tokens
			default:
				left = append(left, c.ToolSpec)
			}
		}
	}
	if len(left) > 0 {
		more := s.moreOf(left)
		out.specs, out.rest, out.tokens = append(out.specs, more), left, out.tokens+s.size(more)
	}
	out.sort()
	return out
}

// moreNames is how many tokens the names of tools take at most that are not told of.
const moreNames = 80

// moreOf describes MoreTools with as many names as there is room for.
func (s *Selection) moreOf(left []core.ToolSpec) core.ToolSpec {
	n := len(left)
	for most := s.size(moreSpec(nil)) + moreNames; n > 0 && s.size(moreSpec(left[:n])) > most; {
		n--
	}
	return moreSpec(left[:n])
}

func moreSpec(tools []core.ToolSpec) core.ToolSpec {
	var names []string
	for _, t := range tools {
		names = append(names, t.Name)
	}
	return core.ToolSpec{Name: MoreTools,
		Description: "Get tools that are not listed, by their names; then call them. There are: " + strings.Join(names, ", "),
		Schema: json.RawMessage(
			`{"type":"object","properties":{"names":{"type":"array","items":{"type":"string"}}},"required":["names"]}`)}
}

// shortWords is how many bytes a short description has at most.
const shortWords = 160

// short is a tool in few words: the first sentence of its description, and a schema
// without remarks.
func short(spec core.ToolSpec) core.ToolSpec {
	if first, _, ok := strings.Cut(spec.Description, ". "); ok {
		spec.Description = first + "."
	}
	if len(spec.Description) > shortWords {
		spec.Description = strings.ToValidUTF8(spec.Description[:shortWords], "") + "…"
	}
	var schema map[string]any
	if json.Unmarshal(spec.Schema, &schema) != nil {
		return spec
	}
	plain(schema)
	if b, err := json.Marshal(schema); err == nil && len(b) < len(spec.Schema) {
		spec.Schema = b
	}
	return spec
}

// plain takes remarks out of a schema. What is named by the schema's author, such as a
// property with the name title, stays.
func plain(schema map[string]any) {
	for _, remark := range []string{"description", "title", "examples", "$schema", "$comment"} {
		delete(schema, remark)
	}
	for key, v := range schema {
		switch v := v.(type) {
		case map[string]any:
			if key == "properties" || key == "patternProperties" || key == "$defs" || key == "definitions" {
				for _, p := range v {
					if p, ok := p.(map[string]any); ok {
						plain(p)
					}
				}
			} else if key != "default" && key != "const" {
				plain(v)
			}
		case []any:
			for _, p := range v {
				if p, ok := p.(map[string]any); ok && key != "enum" && key != "default" {
					plain(p)
				}
			}
		}
	}
}

// more answers a call of MoreTools: the tools that it names can be used from the next
// request on.
func (r *run) more(call core.ToolCall) done {
	var args struct {
		Names []string `json:"names"`
	}
	if err := json.Unmarshal([]byte(call.Arguments), &args); err != nil || len(args.Names) == 0 {
		return failed(`names is a list of tools, as in {"names": ["task_set"]}`)
	}
	var got []string
	var out done
	for _, spec := range r.Tools.rest {
		if slices.Contains(args.Names, spec.Name) {
			got, out.gained = append(got, spec.Name), append(out.gained, spec)
		}
	}
	if len(got) == 0 {
		return failed("there are no such tools left; there are: %s", r.Tools.names())
	}
	out.Text = fmt.Sprintf("You can call these now: %s.", strings.Join(got, ", "))
	return out
}

// gain tells the model of more tools from the next request on, as long as they leave
// room for results.
func (r *run) gain(specs []core.ToolSpec) {
	for _, spec := range specs {
		known := slices.ContainsFunc(r.specs, func(s core.ToolSpec) bool { return s.Name == spec.Name })
		tokens := r.schemas + specsTokens([]core.ToolSpec{spec}, r.Tokenizer)
		if !known && (r.Window == 0 || r.over(tokens)+leastResult <= 0) {
			r.specs, r.schemas = append(slices.Clone(r.specs), spec), tokens
		}
	}
}
