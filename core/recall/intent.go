package recall

import (
	"time"

	"github.com/everthread/everthread/core"
)

// intent is the meaning of a query: words, days, speakers.
type intent struct {
	words    []Word
	phrases  [][]string
	spans    []Span
	speakers speakers
	common   bool // the query has only common words
	days     bool // the query names only days, and speakers
}

// understand reads a query. A word of a date counts only if a message may hold it too,
// and then little, like the names of speakers.
func (a *Analyzer) understand(text string, names map[string]core.Role, channels []string, now time.Time,
	location *time.Location, set *Settings) intent {
	q := a.Query(text)
	in := intent{phrases: q.Phrases, speakers: namedIn(q.tokens, names, channels)}
	var parts map[int]bool
	in.spans, parts = dates(q.tokens, now, location)
	in.days = len(in.spans) > 0
	for _, w := range q.Words {
		keep, dated := parts[w.token]
		switch {
		case dated && (!keep || w.Weight == digitOfWhole):
			continue
		case dated, in.speakers.tokens[w.token]:
			w.Weight *= set.NameWord
			w.Name = !dated
		default:
			in.days = false
		}
		in.words = append(in.words, w)
	}
	if len(in.words) == 0 && len(in.spans) == 0 {
		in.common = len(q.Stops) > 0
		in.words = q.Stops
	}
	return in
}
