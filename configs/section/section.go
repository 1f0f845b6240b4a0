// Package section holds what the configuration shares with the sections of channels: the settings of a channel are a
// struct of its own package, which the configuration reads and checks without knowing it.
package section

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Section is a part of the configuration below channels: a pointer to a struct that holds the defaults. Its fields have
// the names of keys in yaml tags, and are strings, Secrets, numbers, booleans, durations or lists of strings.
type Section interface {
	// Key is its name below channels.
	Key() string
	// Example returns its part of the commented example: every key with its default, indented by two.
	Example() string
	// Validate adds the problems of its values. publicURL is http.public_url.
	Validate(p *Problems, publicURL string)
}

// Lister is an optional interface of a Section whose people access.allow can list.
type Lister interface {
	// Listed returns who, as an operator or the service writes it, in the one form that all spellings of the same person
	// have. If it can be no person, the error says what to write.
	Listed(who string) (string, error)
}

// Carrier is an optional interface of a Section whose channel carries others.
type Carrier interface {
	// Carried returns the names of the other channels.
	Carried() []string
}

// Problems collects wrong values, each with its key and what to do.
type Problems struct{ errs []error }

// Err returns all problems, or nil.
func (p *Problems) Err() error { return errors.Join(p.errs...) }

// Add adds a problem.
func (p *Problems) Add(format string, args ...any) {
	p.errs = append(p.errs, fmt.Errorf(format, args...))
}

// OneOf checks a word.
func (p *Problems) OneOf(key, value string, words ...string) {
	if !slices.Contains(words, value) {
		p.Add("%s is %q; it must be one of %s", key, value, strings.Join(words, ", "))
	}
}

// Web checks that a value is an http or https URL.
func (p *Problems) Web(key, value string) {
	u, err := url.Parse(value)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		p.Add("%s is no web address; write it like https://example.org", key)
	}
}

// Number is a value with an order: a number, a size or a duration.
type Number interface {
	~int | ~int64 | ~float64
}

// AtLeast checks a number.
func AtLeast[T Number](p *Problems, key string, value, low T) {
	if value < low {
		p.Add("%s is %v; it must be at least %v", key, value, low)
	}
}

// Secret is a value that is never shown: it prints, logs and marshals as three stars.
// string(s) is the value. In the environment it can also be given as the name of a file.
type Secret string

// String returns stars, or nothing if the secret is empty.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return "***"
}

// Format writes String whatever the verb.
func (s Secret) Format(f fmt.State, verb rune) {
	if strings.ContainsRune("q", verb) || f.Flag('#') {
		fmt.Fprintf(f, "%q", s.String())
		return
	}
	fmt.Fprint(f, s.String())
}

// MarshalText returns String.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
