package long

// What tests look at besides the API.
var (
	ClauseLines = clauseLines
	Split       = split
)

// Bounds returns where a piece stands in its text.
func (p piece) Bounds() (start, end int) { return p.start, p.end }
