package long

// What tests look at besides the API.
var (
	ClauseLines = clauseLines
	Split       = split
)

// Bounds returns where a piece stands in its text.
func (p piece) Bounds() (start, end int) { return p.start, p.end }

// Sentences returns the sentences of a paragraph.
func Sentences(s string) []string {
	var out []string
	sentences(s, func(start, end int) { out = append(out, s[start:end]) })
	return out
}
