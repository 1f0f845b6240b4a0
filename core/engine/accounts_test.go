package engine

import (
	"slices"
	"testing"
)

// TestTraces_findTextInJSON checks that a text is also found in JSON.
func TestTraces_findTextInJSON(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		`plain`:        {`plain`},
		`a "b" c`:      {`a "b" c`, `a \"b\" c`},
		"two\nlines":   {"two\nlines", `two\nlines`},
		`x<y`:          {`x<y`, `x\u003cy`},
		`"`:            {`"`, `\"`},
		`<"Ärger">`:    {`<"Ärger">`, `\u003c\"Ärger\"\u003e`, `<\"Ärger\">`},
		`back\slash`:   {`back\slash`, `back\\slash`},
		"C’est l’été…": {"C’est l’été…"},
	} {
		if got := forms(text); !slices.Equal(got, want) {
			t.Errorf("%q: got %q", text, got)
		}
	}
}
