package channel

import "errors"

// english is the language of the log.
const english = "en"

// Trouble is an error that the owner must fix. It has advice in their language; its text is
// in English, for the log.
type Trouble struct {
	Advice func(language string) string // a sentence without its full stop
	Err    error                        // of the service
}

// Error returns the advice and the cause.
func (t *Trouble) Error() string { return t.Advice(english) + ": " + t.Err.Error() }

// Unwrap returns the cause.
func (t *Trouble) Unwrap() error { return t.Err }

// Said returns an error as people read it in a language: the advice of a Trouble with the
// service's own words, else the error's text.
func Said(err error, language string) string {
	var t *Trouble
	if errors.As(err, &t) {
		return t.Advice(language) + " (" + t.Err.Error() + ")"
	}
	return err.Error()
}
