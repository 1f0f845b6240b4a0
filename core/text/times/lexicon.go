package times

import (
	"strconv"
	"strings"
	"sync"

	"github.com/everthread/everthread/core/text"
	"github.com/everthread/everthread/core/text/i18n"
)

// entry is what a phrase means.
type entry struct {
	value    int
	language string // of the people for whom it is read; empty: for all
}

// beginning stands in a lexicon before a word that begins phrases. Its value is the most words of them.
const beginning = " "

// lexicon holds what the phrases of a class mean, by class. The classes are the keys of the section times of the
// catalogues; the names of the calendar are in month and weekday, and the plurals of weekdays in weekdays.
var lexicon = sync.OnceValue(func() map[string]map[string]entry {
	out := map[string]map[string]entry{}
	add := func(class, phrase, language string, value int) {
		if out[class] == nil {
			out[class] = map[string]entry{}
		}
		phrase = text.Fold(phrase)
		out[class][phrase] = entry{value, language}
		first, _, _ := strings.Cut(phrase, " ")
		most := max(out[class][beginning+first].value, len(strings.Fields(phrase)))
		out[class][beginning+first] = entry{value: most}
	}
	for language, classes := range i18n.Read[map[string][]string]("times") {
		for class, list := range *classes {
			for i, line := range list {
				value := i + 1
				if before, after, ok := strings.Cut(line, ": "); ok {
					value, _ = strconv.Atoi(before) // checked by a test
					line = after
				}
				for phrase := range strings.SplitSeq(line, " | ") {
					plain, doubtful := strings.CutPrefix(phrase, "!")
					only := ""
					if doubtful {
						only = language
					}
					add(class, plain, only, value)
				}
			}
		}
	}
	for _, language := range i18n.Languages() {
		for i, name := range calendarOf(language).Months {
			if _, doubtful := out["maybe_month"][text.Fold(name)]; !doubtful {
				add("month", name, "", i+1)
			}
		}
		for i, name := range calendarOf(language).Weekdays {
			add("weekday", name, "", i)
		}
	}
	for name, day := range out["weekday"] {
		if !strings.HasPrefix(name, beginning) {
			add("weekdays", name+"s", "", day.value)
		}
	}
	return out
})

// reader reads the words of a text, which are folded.
type reader struct {
	words      []string
	written    []string // the words as written, or nothing
	language   string   // of the person; empty: not known
	ahead      bool     // it looks for a time ahead
	alone      bool     // the text is nothing but a date
	going      bool     // a time has begun before
	monthFirst bool     // 08/05 is 5 August
}

// word returns the i-th word, or nothing.
func (r *reader) word(i int) string {
	if i < 0 || i >= len(r.words) {
		return ""
	}
	return r.words[i]
}

// said returns the words from one to another as written.
func (r *reader) said(from, to int) string {
	if r.written == nil {
		return ""
	}
	var out []string
	for i, w := range r.written[from:to] {
		if i == 0 || w != out[len(out)-1] {
			out = append(out, w)
		}
	}
	return strings.Join(out, " ")
}

// is returns the longest phrase of a class that begins at i: its value and its number of words, 0: there is none.
func (r *reader) is(i int, class string) (value, n int) {
	if i < 0 {
		return 0, 0
	}
	phrases := lexicon()[class]
	for n := min(phrases[beginning+r.word(i)].value, len(r.words)-i); n > 0; n-- {
		e, ok := phrases[strings.Join(r.words[i:i+n], " ")]
		if ok && (e.language == "" || e.language == r.language || r.alone || r.language == "" && class != "short_weekday") {
			return e.value, n
		}
	}
	return 0, 0
}

// length returns the number of words of the phrase of a class at i.
func (r *reader) length(i int, class string) int {
	_, n := r.is(i, class)
	return n
}

// has reports whether the word at i is in one of these classes.
func (r *reader) has(i int, classes ...string) bool {
	for _, class := range classes {
		if r.length(i, class) == 1 {
			return true
		}
	}
	return false
}
