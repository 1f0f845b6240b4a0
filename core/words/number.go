package words

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
)

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
