package channel

import (
	"context"
	"regexp"
	"strings"

	"github.com/everthread/everthread/configs/section"
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

// Setup describes the setup of a channel by hand, in one language.
type Setup struct {
	Channel string
	On      bool
	Hint    string // what to do first; may be empty
	Fields  []SetupField
	Example string // its part of the configuration, with the defaults
}

// SetupField is a required field of a channel, and whether the configuration has it.
type SetupField struct {
	ID          string
	Title, Help string
	Secret      bool
	Set         bool
}

// Setups returns the setup of every channel.
func Setups(sections []section.Section, language string) []Setup {
	var out []Setup
	for _, s := range sections {
		c, ok := s.(Config)
		if !ok {
			continue
		}
		one := Setup{Channel: c.Key(), On: c.On(), Example: "channels:\n" + c.Example()}
		if g, ok := c.(Guided); ok {
			guide := g.Guide(language, Host{})
			one.Hint = guide.Hint
			for _, f := range guide.Fields {
				one.Fields = append(one.Fields, SetupField{ID: f.ID, Title: f.Title, Help: f.Help, Secret: f.Secret,
					Set: *f.Into != ""})
			}
		}
		out = append(out, one)
	}
	return out
}

// Fault is an error of Try: a sentence for a person without its full stop, with the
// placeholders {where} and ({detail}).
type Fault struct {
	Text   string
	Where  string
	Detail string // the words of the service
	Err    error  // may be nil
}

// Error returns the text, filled with its place and detail.
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

// Error names the server and the cause.
func (u *Unreached) Error() string { return u.Where + " does not answer: " + u.Err.Error() }

// Unwrap returns the cause.
func (u *Unreached) Unwrap() error { return u.Err }
