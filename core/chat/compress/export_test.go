package compress

var (
	ClauseLines = clauseLines
	Split       = split
)

// Bounds returns the bounds of a piece in its text.
func (p piece) Bounds() (start, end int) { return p.start, p.end }
