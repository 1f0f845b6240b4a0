package text

import (
	"strings"
	"sync"

	"github.com/everthread/everthread/core/text/i18n"
)

// Phrases returns a function that returns the phrases of a list of words in the catalogues, in all languages that the
// program reads: words.<section> is a table of lists, whose lines are phrases with | between them.
func Phrases(section, list string) func() []string {
	return sync.OnceValue(func() (out []string) {
		for _, lists := range i18n.Read[map[string][]string]("words." + section) {
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

// Small returns the words of a language that say nothing about a subject, folded.
func Small(language string) map[string]bool { return small()[language] }

var small = sync.OnceValue(func() map[string]map[string]bool {
	out := map[string]map[string]bool{}
	for language, lists := range i18n.Read[map[string][]string]("words.text") {
		all := map[string]bool{}
		for _, line := range (*lists)["small"] {
			for w := range strings.SplitSeq(line, " | ") {
				all[Fold(w)] = true
			}
		}
		out[strings.TrimPrefix(language, "read/")] = all
	}
	return out
})

var abbreviation = OneOf("text", "abbreviations")
