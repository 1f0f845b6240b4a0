package section

import (
	"fmt"
	"strings"
)

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
