// Package text folds, stems, cuts and shortens texts, in one way for all that compares them. It is pure. What is stored
// depends on Fold and on the stems: terms of the full-text index, slugs and digests.
package text

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Pattern returns a regular expression that is compiled at its first use: compiling a large one costs time at each
// start of a program that may never use it. It then panics if expr is invalid.
func Pattern(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// Lists returns the lists in a file of words by their names. A line is "name: one | another";
// several lines of a name are one list. Lines that begin with # are comments.
func Lists(file string) map[string][]string {
	out := map[string][]string{}
	for line := range strings.Lines(file) {
		name, list, ok := strings.Cut(line, ": ")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		for entry := range strings.SplitSeq(list, "|") {
			out[name] = append(out[name], strings.TrimSpace(entry))
		}
	}
	return out
}

// Digest identifies a statement: two that differ only in case, accents, white space or the punctuation around words
// have the same digest. Signs within a word and those that have a meaning (1.5, C++, -5) count. It is hex SHA-256.
func Digest(statement string) string {
	plain := strings.Join(bare(statement), " ")
	if plain == "" {
		plain = strings.TrimSpace(statement)
	}
	sum := sha256.Sum256([]byte(plain))
	return hex.EncodeToString(sum[:])
}

// bare returns the words of a statement without the punctuation around them.
func bare(statement string) []string {
	var out []string
	for _, f := range strings.Fields(Fold(statement)) {
		f = strings.TrimRightFunc(strings.TrimLeftFunc(f, opens), func(r rune) bool {
			return opens(r) || strings.ContainsRune(".,;:!?…。、，！？：；", r)
		})
		if f != "" && f != "-" {
			out = append(out, f)
		}
	}
	return out
}

// opens reports whether a sign before a word has no meaning.
func opens(r rune) bool {
	return strings.ContainsRune("\"'`()[]{}«»“”„‘‹›*_~–—「」", r)
}

// Clean returns s in a form that every store accepts: valid UTF-8 without control
// characters except line breaks and tabs, and without surrounding white space.
func Clean(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD")))
}

// OneLine returns s with every run of white space as one blank, trimmed.
func OneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// Shorten returns s, or its first n characters and … if it has more.
func Shorten(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return strings.TrimSpace(string([]rune(s)[:n])) + "…"
}

// Within returns s, or if it has more than n characters, its beginning with …, n characters in all. n is 1 or more.
func Within(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

// RuneStart returns the start of the character of byte i of s, or len(s) beyond its end.
func RuneStart(s string, i int) int {
	if i >= len(s) {
		return len(s)
	}
	for back := range utf8.UTFMax {
		if i-back >= 0 && utf8.RuneStart(s[i-back]) {
			return i - back
		}
	}
	return i
}

// Bytes returns a number of bytes for people, rounded up.
func Bytes(n int64) string {
	for _, unit := range []struct {
		name string
		size int64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n >= 10*unit.size {
			return fmt.Sprintf("%d %s", (n+unit.size-1)/unit.size, unit.name)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}
