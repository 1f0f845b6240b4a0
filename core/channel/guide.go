package channel

import (
	"context"
	"regexp"
	"strings"

	"github.com/everthread/everthread/configs/section"
)

// Guided is an optional interface of a Config that `everthread init` can set up. What
// is answered goes into the Config.
type Guided interface {
	Guide(language string, h Host) Guide
}

// Guide is how a channel is set up, in one language.
type Guide struct {
	Option string  // how it is offered among what few want; empty: it is offered to everybody
	Fields []Field // what is asked, in this order
	Hint   string  // what to do without the guide, such as "for X get a token …"; may be empty
	// Try finds out whether the answers work. Its errors are *Fault or *Unreached; others
	// say what to do in English.
	Try func(ctx context.Context) (Tried, error)
}

// Field is a question and the value that its answer becomes.
type Field struct {
	ID          string // in a file of answers, and so unique among all channels
	Title, Help string
	Into        *string
	Secret      bool           // what is typed is not shown
	Empty       bool           // nothing is an answer too: the channel is not wanted
	Form        *regexp.Regexp // of an answer; nil: any
	Malformed   string         // what is said of another
}

// Tried is what is known once the answers work.
type Tried struct {
	Said    string   // to the person
	Name    string   // of the assistant there; empty: it has none
	Comment string   // above the section in the configuration
	Keys    []string // of the section and their values, in turn; what is empty is not written
}

// Setup is how a channel is set up by hand, in one language.
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

// Fault is what Try found wrong: a sentence for a person without its full stop, in which
// {where} and ({detail}) are filled in.
type Fault struct {
	Text   string
	Where  string
	Detail string // what the other side said, in its own words
	Err    error  // may be nil
}

// Error returns the sentence.
func (f *Fault) Error() string { return Fill(f.Text, f.Where, f.Detail) }

// Unwrap returns the cause.
func (f *Fault) Unwrap() error { return f.Err }

// Fill puts values into a sentence of a Fault.
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

// Error returns where and why.
func (u *Unreached) Error() string { return u.Where + " does not answer: " + u.Err.Error() }

// Unwrap returns why.
func (u *Unreached) Unwrap() error { return u.Err }
