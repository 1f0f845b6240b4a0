package prompt

import (
	"strings"

	"github.com/everthread/everthread/core"
)

const shortened = "[shortened]"

// section is a part of a summary: a heading and what stands below it, in blocks
// that are kept or left out whole: bullets, or the paragraphs of a narrative.
type section struct {
	heading string
	blocks  []string
	kept    int
}

// condense returns a summary in Markdown in at most limit tokens. The
// narrative comes first, then the sections take turns, the weightiest first, so
// that each loses its last bullets before another has none.
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

// withoutLoops is a summary without the loops that it opened: the ones that are
// still open stand in a part of their own. What opened none, as it rests on no
// message, stays.
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

// byWeight returns the indexes of sections in the order in which they are worth
// keeping. The first is the narrative.
func byWeight(all []section) []int {
	var order []int
	for _, heading := range []string{"", "## Summary", "## Decisions", "## Open loops", "## Next steps", "## Goals"} {
		for i, s := range all {
			if s.heading == heading {
				order = append(order, i)
			}
		}
	}
	for i, s := range all {
		if !strings.Contains("|## Summary|## Decisions|## Open loops|## Next steps|## Goals||", "|"+s.heading+"|") {
			order = append(order, i)
		}
	}
	return order
}

// sections splits Markdown at its headings. Text before the first one is a
// section without a heading.
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

// add appends a line: to the block before it if it is indented.
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
