package markup

import (
	"regexp"
	"slices"
	"strings"
)

// tight matches a heading of level 2 or more without the space; #word is a hashtag.
var tight = regexp.MustCompile(`^( {0,3}#{2,6})([\p{L}\p{N}*])`)

// Mend corrects Markdown whose meaning is clear but that the standard reads otherwise: a block of Markdown with fences of
// its own, fences with words beside them, headings without a space, and rows of a table with too many cells. Its time is
// linear in len(md).
func Mend(md string) string {
	if !strings.ContainsAny(md, "#|") && !strings.Contains(md, "```") && !strings.Contains(md, "~~~") {
		return md
	}
	lines := strings.SplitAfter(unfenced(md), "\n")
	fence, closed, columns := "", true, 0
	for i, line := range lines {
		bare := strings.TrimSuffix(line, "\n")
		if m := marker(bare); m != "" && fence == "" && closed && ofMarkdown(bare, m) {
			var end, longest int
			if end, longest, closed = nested(lines[i+1:], m); closed && longest >= len(m) {
				more := strings.Repeat(m[:1], longest+1-len(m))
				lines[i] = strings.Replace(line, m, m+more, 1)
				lines[i+1+end] = strings.Replace(lines[i+1+end], m, m+more, 1)
				bare = strings.TrimSuffix(lines[i], "\n")
			}
		} else if fence == "" && m == "" {
			lines[i] = tight.ReplaceAllString(line, "$1 $2")
			columns = mendRows(lines, i, columns)
		}
		fence = fenceAfter(fence, bare)
	}
	return strings.Join(lines, "")
}

func ofMarkdown(line, m string) bool {
	info := strings.ToLower(strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(line), m[:1])))
	return info == "markdown" || info == "md"
}

// nested returns the line that ends a block that m begins, and the longest fence within it; false: none ends it. A fence
// with the name of a language begins an inner block.
func nested(lines []string, m string) (end, longest int, ok bool) {
	inner := ""
	for i, line := range lines {
		bare := strings.TrimSuffix(line, "\n")
		fence := marker(bare)
		switch {
		case fence == "" || fence[0] != m[0]:
		case inner != "":
			if fenceAfter(inner, bare) == "" {
				inner = ""
			}
		case strings.TrimSpace(bare) != fence:
			inner, longest = bare, max(longest, len(fence))
		case len(fence) >= len(m):
			return i, longest, true
		}
	}
	return 0, 0, false
}

var (
	// lateFence matches a fence after words, with the name of a language; fencedEnd a closing one before words.
	lateFence = regexp.MustCompile("^([^`]*\\pL[^`]*[^`\\s])[ \t]*(```+[\\w+#.-]*)[ \t]*$")
	fencedEnd = regexp.MustCompile("^( {0,3}(?:```+|~~~+))([ \t.,;:!?)]+)(.*)$")
)

// unfenced gives the fences of md that words stand beside lines of their own.
func unfenced(md string) string {
	lines := strings.Split(md, "\n")
	next := make([]bool, len(lines)) // whether the next fence after a line ends a block
	bare := make([]bool, len(lines)) // whether any does
	for i := len(lines) - 2; i >= 0; i-- {
		m := marker(lines[i+1])
		next[i], bare[i] = next[i+1], bare[i+1]
		if m != "" {
			next[i] = strings.TrimSpace(lines[i+1]) == m || endsFence(lines[i+1], m, bare[i+1])
			bare[i] = bare[i+1] || strings.TrimSpace(lines[i+1]) == m
		}
	}
	out := make([]string, 0, len(lines))
	fence, opened := "", 0
	for i, line := range lines {
		m := marker(line)
		late := lateFence.FindStringSubmatch(line)
		switch {
		case fence == "" && m == "" && late != nil && next[i]:
			out = append(out, late[1])
			line = late[2]
		case fence != "" && fenceAfter(fence, m) == "" && !ofMarkdown(fence, marker(fence)) && endsFence(line, m, bare[i]):
			parts := fencedEnd.FindStringSubmatch(line)
			out = append(out, parts[1])
			fence, line = "", strings.TrimLeft(parts[2]+parts[3], " \t")
		}
		if fence == "" {
			opened = len(out)
		}
		fence = fenceAfter(fence, line)
		out = append(out, line)
	}
	if m := marker(fence); m != "" && endsFence(fence, m, false) && blank(out[opened+1:]) { // it begins nothing
		out[opened] = strings.TrimLeft(strings.TrimLeft(fence, " "), m[:1])
	}
	return strings.Join(out, "\n")
}

func blank(lines []string) bool {
	return !slices.ContainsFunc(lines, func(line string) bool { return strings.TrimSpace(line) != "" })
}

// endsFence reports whether a line beginning with the fence m ends a block, and its words belong to the text after it.
// A single word may be the name of a language, if a later fence ends a block.
func endsFence(line, m string, later bool) bool {
	parts := fencedEnd.FindStringSubmatch(line)
	if parts == nil || parts[3] == "" && strings.TrimSpace(parts[2]) == "" {
		return false
	}
	return !later || strings.TrimSpace(parts[2]) != "" || len(strings.Fields(parts[3])) > 1
}

// ruled matches the rule below the header of a table, within quotes.
var ruled = regexp.MustCompile(`^[ >]*\|?(?: *:?-+:? *\|)+(?: *:?-+:? *)?\s*$`)

// mendRows corrects the rows of a table: the header when its rule is lines[i], else the row lines[i] of a table of so
// many columns. It returns the columns of the table that goes on below.
func mendRows(lines []string, i, columns int) int {
	switch line := strings.TrimSpace(lines[i]); {
	case ruled.MatchString(lines[i]) && columns == 0 && i > 0:
		columns = len(borders(line, false)) + 1
		lines[i-1] = fitted(lines[i-1], columns)
	case !strings.Contains(line, "|"):
		return 0
	case columns > 0:
		lines[i] = fitted(lines[i], columns)
	}
	return columns
}

// fitted returns a row of at most so many cells: of one with more, the signs in code are no borders, and the last cells
// are one.
func fitted(row string, columns int) string {
	all := borders(row, false)
	if len(all) < columns {
		return row
	}
	keep := borders(row, true) // some of them
	keep = keep[:min(len(keep), columns-1)]
	var b strings.Builder
	pos := 0
	for _, at := range all {
		if len(keep) > 0 && keep[0] == at {
			keep = keep[1:]
			continue
		}
		b.WriteString(row[pos:at] + `\`)
		pos = at
	}
	return b.String() + row[pos:]
}

// borders returns where a row has signs between two cells; without those in code, if asked.
func borders(row string, code bool) []int {
	trimmed := strings.TrimRight(row, " \t\n")
	start := len(row) - len(strings.TrimLeft(row, " \t>"))
	end := len(trimmed)
	if end > start && trimmed[end-1] == '|' {
		end--
	}
	var out []int
	for i := start; i < end; i++ {
		switch row[i] {
		case '\\':
			i++
		case '`':
			n := len(row[i:]) - len(strings.TrimLeft(row[i:], "`"))
			if close := strings.Index(row[i+n:end], row[i:i+n]); code && close >= 0 {
				i += n + close
			}
			i += n - 1
		case '|':
			if i > start {
				out = append(out, i)
			}
		}
	}
	return out
}
