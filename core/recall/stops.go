package recall

import (
	_ "embed"
	"slices"
	"strings"
)

// stopText holds the words that say nothing about the subject of a query, a line
// for each language.
//
//go:embed stops.txt
var stopText string

// stopWords returns the stop words of English, French, Russian, Chinese and
// languages.
func stopWords(languages []string) map[string]bool {
	stops := map[string]bool{}
	for line := range strings.Lines(stopText) {
		language, words, ok := strings.Cut(line, ": ")
		if !ok || !slices.Contains([]string{"en", "fr", "ru", "zh"}, language) && !slices.Contains(languages, language) {
			continue
		}
		for _, w := range strings.Fields(words) {
			stops[fold(w)] = true
		}
	}
	return stops
}
