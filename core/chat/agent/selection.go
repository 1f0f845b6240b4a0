package agent

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/everthread/everthread/core"
)

// MoreTools is the tool by which a model gets tools that it was not offered.
const MoreTools = "tools_more"

// Selection chooses the tools of a set that a model is offered if there is no room for all
// descriptions. The other tools can be called, too, and MoreTools describes them.
type Selection struct {
	all    *Registry
	order  []choice // the most useful first
	budget int
	tokens int // of all descriptions
	whole  *Registry
	size   func(core.ToolSpec) int
}

// choice is a tool with the size of its description.
type choice struct {
	core.ToolSpec
	tokens int
}

// Select returns the selection of a set whose descriptions may take budget tokens. If they take more, it shortens those
// of outside tools, then all, then leaves out the least useful. Rank is lower for more useful tools.
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

// Whole reports whether the model is offered every tool.
func (s *Selection) Whole() bool { return s.tokens <= s.budget }

// Tokens bounds the tokens of the descriptions.
func (s *Selection) Tokens() int { return min(s.tokens, s.budget) }

// Set returns all tools.
func (s *Selection) Set() *Registry { return s.all }

// Tools returns the set as the model is offered it. Tools named in needed come before others.
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

// moreNames bounds the tokens of the names of tools that are not offered.
const moreNames = 80

// moreOf describes MoreTools with as many names as have room.
func (s *Selection) moreOf(left []core.ToolSpec) core.ToolSpec {
	n := len(left)
	for most := s.size(moreSpec(nil)) + moreNames; n > 0 && s.size(moreSpec(left[:n])) > most; {
		n--
	}
	return moreSpec(left[:n])
}

func moreSpec(tools []core.ToolSpec) core.ToolSpec {
	return core.ToolSpec{Name: MoreTools,
		Description: "Get tools that are not listed, by their names; then call them. There are: " +
			(&Registry{specs: tools}).names(),
		Schema: json.RawMessage(
			`{"type":"object","properties":{"names":{"type":"array","items":{"type":"string"}}},"required":["names"]}`)}
}

// shortWords bounds the bytes of a short description.
const shortWords = 160

// short cuts a tool's description to its first sentence, and its schema's remarks.
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

// plain removes the remarks of a schema, but not names of its author, such as a property title.
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

// more answers a call of MoreTools: the next request offers the tools that it names.
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

// gain offers the model more tools from the next request on, while they leave room for results.
func (r *run) gain(specs []core.ToolSpec) {
	for _, spec := range specs {
		known := slices.ContainsFunc(r.specs, func(s core.ToolSpec) bool { return s.Name == spec.Name })
		tokens := r.schemas + specsTokens([]core.ToolSpec{spec}, r.Tokenizer)
		if !known && r.over(tokens)+leastResult <= 0 {
			r.specs, r.schemas = append(slices.Clone(r.specs), spec), tokens
		}
	}
}
