package summary

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/everthread/everthread/core"
)

// grounded is a summary whose every bullet rests on messages that were read.
type grounded struct {
	markdown   string
	bullets    int // kept
	dropped    int // bullets without a valid reference
	ungrounded bool
	loops      []string
	sources    [][]core.MessageID
}

var (
	refGroup = regexp.MustCompile(`\s*\[#\d+(?:\s*,\s*#?\d+)*\]`)
	refID    = regexp.MustCompile(`\d+`)
)

// sections are the fixed headings, in order.
var sections = []string{"Summary", "Goals", "Decisions", "Open loops", "Next steps"}

// ground keeps of a model's summary what has the fixed format and rests on
// messages of allowed: references to others are removed, bullets left with none
// are dropped, unknown headings fall to the narrative's section before them.
func ground(text string, allowed map[core.MessageID]bool) grounded {
	g := grounded{}
	bodies := map[string][]string{}
	current := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \t\r\n")
		if name, ok := heading(line); ok {
			current = name
			continue
		}
		if current == "" && strings.TrimSpace(line) != "" {
			current = sections[0]
		}
		if kept, ok := g.line(current, line, allowed); ok {
			bodies[current] = append(bodies[current], kept)
		}
	}
	g.markdown = assemble(bodies)
	g.ungrounded = g.bullets == 0 && g.markdown != ""
	return g
}

// heading reads one of the fixed headings.
func heading(line string) (string, bool) {
	if !strings.HasPrefix(line, "#") {
		return "", false
	}
	name := strings.Trim(strings.TrimLeft(line, "#"), " *:")
	for _, s := range sections {
		if strings.EqualFold(s, name) {
			return s, true
		}
	}
	return "", false
}

// line keeps one line of a section, or drops it.
func (g *grounded) line(section, line string, allowed map[core.MessageID]bool) (string, bool) {
	trimmed := strings.TrimSpace(line)
	if trimmed == "" {
		return "", section == sections[0]
	}
	bare, ids := strip(trimmed, allowed)
	if section == sections[0] {
		_, isHeading := heading(bare)
		return bare, bare != "" && !isHeading
	}
	body := strings.TrimLeft(bare, "-*• \t")
	if body == "" {
		return "", false
	}
	if len(ids) == 0 {
		g.dropped++
		return "", false
	}
	g.bullets++
	if section == "Open loops" {
		g.loops, g.sources = append(g.loops, body), append(g.sources, ids)
	}
	return "- " + body + " " + cite(ids), true
}

// strip takes the references out of a line and returns those that are allowed.
func strip(line string, allowed map[core.MessageID]bool) (string, []core.MessageID) {
	var ids []core.MessageID
	seen := map[core.MessageID]bool{}
	for refGroup.MatchString(line) { // taking one out may make another
		for _, n := range refID.FindAllString(strings.Join(refGroup.FindAllString(line, -1), " "), -1) {
			id, err := strconv.ParseInt(n, 10, 64)
			if m := core.MessageID(id); err == nil && allowed[m] && !seen[m] {
				seen[m] = true
				ids = append(ids, m)
			}
		}
		line = refGroup.ReplaceAllString(line, "")
	}
	return strings.TrimSpace(line), ids
}

func cite(ids []core.MessageID) string {
	parts := make([]string, len(ids))
	for i, id := range ids {
		parts[i] = "#" + strconv.FormatInt(int64(id), 10)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// assemble writes the sections that have something in the fixed order.
func assemble(bodies map[string][]string) string {
	var b strings.Builder
	for _, s := range sections {
		body := strings.TrimSpace(strings.Join(bodies[s], "\n"))
		if body == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("\n\n")
		}
		b.WriteString("## " + s + "\n" + body)
	}
	return b.String()
}
