package markup

import "strings"

// Bounds of what rendering may add to a text: cells of tables, to which short rows are
// padded, and targets of link definitions, which each use repeats.
const (
	maxCells   = 20_000
	maxTargets = 1 << 20 // bytes
)

// Grows reports whether Markdown could become much larger when rendered: by rows of a
// table that are padded to its header, or by link definitions that are used repeatedly.
// Its time is linear in len(md).
func Grows(md string) (tables, links bool) { return cells(md) > maxCells, targets(md) > maxTargets }

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

// targets bounds the bytes of all uses of link definitions.
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
