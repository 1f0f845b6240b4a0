package markup

import "strings"

// How much a text may grow when it is rendered: in the cells of its tables, which
// short rows are padded to, and in the targets of link definitions, which each use
// repeats.
const (
	maxCells   = 20_000
	maxTargets = 1 << 20 // bytes
)

// Grows reports whether Markdown could become much larger than it is when it is
// rendered: by rows of a table that are padded to its header, or by definitions of
// links that are used again and again. Its time is linear in len(md).
func Grows(md string) (tables, links bool) {
	return cells(md) > maxCells, targets(md) > maxTargets
}

// cells bounds the cells of all tables: the columns of each rule below a header,
// times the lines until the next empty one.
func cells(md string) int {
	total, columns := 0, 0
	for line := range strings.Lines(md) {
		rest := strings.Trim(line, " \t>\r\n")
		switch {
		case rest == "":
			columns = 0
		case strings.Contains(rest, "-") && strings.Trim(rest, "|:-+* \t>0123456789.)") == "":
			columns = max(columns, strings.Count(rest, "|")+1)
		}
		total += columns
	}
	return total
}

// targets bounds the bytes of all targets of links that are defined apart from
// their uses.
func targets(md string) int {
	if !strings.Contains(md, "]:") {
		return 0
	}
	longest, uses := 0, strings.Count(md, "]")
	for line := range strings.Lines(md) {
		longest = max(longest, len(line))
	}
	return longest * uses
}
