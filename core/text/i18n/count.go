package i18n

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"
)

// Counted is a text about a number of things, in the plural forms of its language: one message, two messages.
type Counted struct{ forms }

// Ranked is a text about the place of something, in the ordinal forms of its language: the 1st, the 2nd.
type Ranked struct{ forms }

type forms struct {
	language language.Tag
	rules    *plural.Rules
	texts    map[plural.Form]string
}

// Of returns the text for n. The value of its first verb is n in the language's form of
// numbers; args are the values of the others. A form may omit any of them.
func (f forms) Of(n int, args ...any) string {
	text := f.texts[f.form(n)]
	args = slices.Insert(args, 0, any(Number(f.language.String(), n)))
	return fmt.Sprintf(text, args[:min(len(args), values(text))]...)
}

func (f forms) form(n int) plural.Form {
	return f.rules.MatchPlural(f.language, max(n, -n), 0, 0, 0, 0)
}

// needed returns the forms of whole numbers.
func (f forms) needed() map[plural.Form]bool {
	out := map[plural.Form]bool{f.form(1_000_000): true}
	for n := range 1000 {
		out[f.form(n)] = true
	}
	return out
}

// formNames are the forms of CLDR by their names in catalogues.
var formNames = map[string]plural.Form{
	"zero": plural.Zero, "one": plural.One, "two": plural.Two, "few": plural.Few, "many": plural.Many,
	"other": plural.Other,
}

// readForms reads a table of forms: one = "%s message", other = "%s messages".
func readForms(code string, rules *plural.Rules, from any) (forms, error) {
	f := forms{language.Make(code), rules, map[plural.Form]string{}}
	table, ok := from.(catalogue)
	if !ok {
		return f, errors.New("it is no table of plural forms")
	}
	need := f.needed()
	for name, text := range table {
		form, known := formNames[name]
		s, _ := text.(string)
		if !known || s == "" || !need[form] {
			return f, fmt.Errorf("%q is not a plural form of the language", name)
		}
		f.texts[form] = s
	}
	for _, name := range slices.Sorted(maps.Keys(formNames)) {
		if form := formNames[name]; need[form] && f.texts[form] == "" {
			return f, fmt.Errorf("the form %q is missing", name)
		}
	}
	return f, nil
}

// verb matches a verb of a text: its index, if it has one, and its letter.
var verb = regexp.MustCompile(`%(?:\[(\d+)\])?([a-z])`)

// values returns the number of values that the verbs of a text need.
func values(text string) int {
	n := 0
	for next, m := range verb.FindAllStringSubmatch(strings.ReplaceAll(text, "%%", ""), -1) {
		place, err := strconv.Atoi(m[1])
		if err != nil {
			place = next + 1
		}
		n = max(n, place)
	}
	return n
}

// Language describes the language of a catalogue.
type Language struct {
	Name      string   // in the language itself
	Called    []string // other names, folded
	Thousands string   // the mark between groups of three digits
	Decimal   string   // the mark before decimals
	Percent   string   // number
	And       string   // between the last two of a list
}

var of = sync.OnceValue(func() func(string) *Language { return In[Language]("language") })

// Of returns the description of the language that Match finds for a tag.
func Of(tag string) *Language { return of()(tag) }

// Number returns a number with the marks of a language: 12,345 or 12 345.
func Number(tag string, n int) string {
	digits, sign := strconv.Itoa(max(n, -n)), ""
	if n < 0 {
		sign = "−"
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + of()(tag).Thousands + digits[i:]
	}
	return sign + digits
}

// Decimal returns a number with so many decimals, without marks for thousands.
func Decimal(tag string, x float64, decimals int) string {
	return strings.Replace(strconv.FormatFloat(x, 'f', decimals, 64), ".", of()(tag).Decimal, 1)
}

// Percent returns n per cent.
func Percent(tag string, n int) string { return fmt.Sprintf(of()(tag).Percent, n) }

// List returns several things as one text: a, b and c.
func List(tag string, things ...string) string {
	n := len(things) - 1
	if n < 1 {
		return strings.Join(things, "")
	}
	return strings.Join(things[:n], ", ") + of()(tag).And + things[n]
}
