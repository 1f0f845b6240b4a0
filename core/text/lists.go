package text

import (
	"strings"
	"sync"

	"github.com/everthread/everthread/core/words"
)

// Phrases returns a function that returns the phrases of a list of words in the catalogues, in all languages that the
// program reads: words.<section> is a table of lists, whose lines are phrases with | between them.
func Phrases(section, list string) func() []string {
	return sync.OnceValue(func() (out []string) {
		for _, lists := range words.Read[map[string][]string]("words." + section) {
			for _, line := range (*lists)[list] {
				out = append(out, strings.Split(line, " | ")...)
			}
		}
		return out
	})
}

// OneOf returns a function that reports whether a word is in a list of Phrases.
func OneOf(section, list string) func(word string) bool {
	known := sync.OnceValue(func() map[string]bool {
		out := map[string]bool{}
		for _, w := range Phrases(section, list)() {
			out[w] = true
		}
		return out
	})
	return func(word string) bool { return known()[word] }
}

var abbreviation = OneOf("text", "abbreviations")
