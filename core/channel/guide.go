package channel

import (
	"context"
	"regexp"
	"strings"
)

// Guided is an optional interface of a Config that `everthread init` can set up. Answers are
// written into the Config.
type Guided interface {
	Guide(language string, h Host) Guide
}

// Guide describes the setup of a channel, in one language.
type Guide struct {
	Option string  // text among rarely used options; empty: it is offered to everybody
	Fields []Field // questions, in order
	Hint   string  // what to do without the guide, such as "for X get a token …"; may be empty
	// Try tests the answers. Its errors are *Fault or *Unreached; others say what to do in
	// English.
	Try func(ctx context.Context) (Tried, error)
}

// Field is a question, and the value that its answer sets.
type Field struct {
	ID          string // in a file of answers; unique among all channels
	Title, Help string
	Into        *string
	Secret      bool           // the input is not shown
	Empty       bool           // an empty answer is valid: the channel is not wanted
	Form        *regexp.Regexp // of a valid answer; nil: any
	Malformed   string         // the message about an invalid one
}

// Tried is the result of a successful Try.
type Tried struct {
	Said    string   // message to the person
	Name    string   // of the assistant there; empty: it has none
	Comment string   // above the section in the configuration
	Keys    []string // of the section, alternating with their values; empty ones are not written
}

// Fault is an error of Try: a sentence for a person without its full stop, with the
// placeholders {where} and ({detail}).
type Fault struct {
	Text   string
	Where  string
	Detail string // the words of the service
	Err    error  // may be nil
}

// Error returns the sentence.
func (f *Fault) Error() string { return Fill(f.Text, f.Where, f.Detail) }

// Unwrap returns the cause.
func (f *Fault) Unwrap() error { return f.Err }

// Fill replaces the placeholders in a sentence of a Fault.
func Fill(text, where, detail string) string {
	if detail == "" {
		text = strings.ReplaceAll(text, " ({detail})", "")
	}
	return strings.NewReplacer("{where}", where, "{detail}", strings.TrimSuffix(detail, ".")).Replace(text)
}

// Unreached means that a service did not answer.
type Unreached struct {
	Where string // its host
	Err   error  // without secrets
}

// Error returns the host and the cause.
func (u *Unreached) Error() string { return u.Where + " does not answer: " + u.Err.Error() }

// Unwrap returns the cause.
func (u *Unreached) Unwrap() error { return u.Err }
