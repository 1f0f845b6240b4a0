package prompt

import (
	"slices"
	"strings"

	"github.com/everthread/everthread/core"
)

const shortened = "[shortened]"

// section is a heading of a summary with its blocks: bullets, or the paragraphs of a
// narrative. A block is kept or dropped as a whole.
type section struct {
	heading string
	blocks  []string
	kept    int
}

// condense returns a summary in Markdown in at most limit tokens. It keeps the narrative,
// then one block of each section in turn, the most important section first, so that every
// section loses its last bullets before another loses all.
func condense(markdown string, limit int, t core.Tokenizer) string {
	markdown = strings.TrimSpace(markdown)
	if len(markdown) <= limit || len(markdown) <= 16*limit && t.Count(markdown) <= limit {
		return markdown
	}
	all := sections(markdown)
	room := limit - t.Count(shortened) - 2
	if len(all) > 0 && len(all[0].blocks) > 0 {
		// The narrative takes at most half, unless it is all there is.
		narrative := room - t.Count(all[0].heading) - 2
		if len(all) > 1 || len(all[0].blocks) > 1 {
			narrative /= 2
		}
		all[0].blocks[0] = clip(all[0].blocks[0], max(narrative, 1), t)
	}
	fill(all, room, t)
	text := join(all)
	if text == "" {
		return clip(markdown, limit, t)
	}
	return text + "\n\n" + shortened
}

// withoutLoops returns a summary without the loops that it opened: those still open have a
// part of their own. Lines without a source opened none, and stay.
func withoutLoops(markdown string) string {
	const heading = "\n## Open loops\n"
	before, rest, ok := strings.Cut("\n"+markdown, heading)
	if !ok {
		return markdown
	}
	loops, after, more := strings.Cut(rest, "\n## ")
	if more {
		after = "\n## " + after
	}
	kept := ""
	for line := range strings.Lines(loops) {
		if line = strings.TrimRight(line, "\r\n"); strings.HasSuffix(line, "[?]") {
			kept += line + "\n"
		}
	}
	if kept != "" {
		kept = heading + kept
	}
	return strings.TrimSpace(before + kept + after)
}

// fill keeps blocks, a round of the sections at a time, while there is room.
func fill(all []section, room int, t core.Tokenizer) {
	order := byWeight(all)
	for added := true; added; {
		added = false
		for _, i := range order {
			s := &all[i]
			if s.kept == len(s.blocks) {
				continue
			}
			cost := t.Count(s.blocks[s.kept]) + 2
			if s.kept == 0 && s.heading != "" {
				cost += t.Count(s.heading) + 2
			}
			if cost > room {
				s.blocks = s.blocks[:s.kept]
				continue
			}
			s.kept, room, added = s.kept+1, room-cost, true
		}
	}
}

// byWeight returns the indexes of sections, the most important first: the narrative, then named sections, then others.
func byWeight(all []section) []int {
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	weighty := []string{"## Goals", "## Next steps", "## Open loops", "## Decisions", "## Summary", ""}
	weight := func(i int) int { return slices.Index(weighty, all[i].heading) }
	slices.SortStableFunc(order, func(x, y int) int { return weight(y) - weight(x) })
	return order
}

// sections splits Markdown at its headings. Text before the first one is a section without a heading.
func sections(markdown string) []section {
	var all []section
	for line := range strings.Lines(markdown) {
		line = strings.TrimRight(line, " \r\n")
		switch {
		case strings.HasPrefix(line, "#"):
			all = append(all, section{heading: line})
		case line == "":
		case len(all) == 0:
			all = append(all, section{blocks: []string{line}})
		default:
			all[len(all)-1].add(line)
		}
	}
	return all
}

// add appends a line as a block, or to the last block if it is indented.
func (s *section) add(line string) {
	if n := len(s.blocks); n > 0 && (line[0] == ' ' || line[0] == '\t') {
		s.blocks[n-1] += "\n" + line
		return
	}
	s.blocks = append(s.blocks, line)
}

func join(all []section) string {
	var parts []string
	for _, s := range all {
		if s.kept == 0 {
			continue
		}
		text := strings.Join(s.blocks[:s.kept], "\n")
		if s.heading != "" {
			text = s.heading + "\n" + text
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "\n\n")
}
