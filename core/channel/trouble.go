package channel

import "errors"

// english is the language of the log.
const english = "en"

// Trouble is an error that the owner has to do something about, and says what in their
// language. Its text is in English, for the log.
type Trouble struct {
	Advice func(language string) string // a sentence without its full stop
	Err    error                        // what the service said
}

// Error returns the advice and the cause.
func (t *Trouble) Error() string { return t.Advice(english) + ": " + t.Err.Error() }

// Unwrap returns the cause.
func (t *Trouble) Unwrap() error { return t.Err }

// Said is an error as somebody reads it in a language: of a Trouble the advice, and what
// the service said in its own words; else its text.
func Said(err error, language string) string {
	var t *Trouble
	if errors.As(err, &t) {
		return t.Advice(language) + " (" + t.Err.Error() + ")"
	}
	return err.Error()
}
