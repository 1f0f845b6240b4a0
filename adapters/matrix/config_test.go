package matrix

import "testing"

// The spellings of one person have one form; "": it can be nobody.
func TestListed(t *testing.T) {
	t.Parallel()
	for who, want := range map[string]string{
		"@ada:hs.test": "@ada:hs.test", "@Ada:HS.Test": "@ada:hs.test", " @ada:hs.test:8448 ": "@ada:hs.test:8448",
		"ada:hs.test": "", "@ada": "", "@:hs.test": "", "@ada:": "", "@a da:hs.test": "",
	} {
		got, err := (&Config{}).Listed(who)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: got %q, %v, want %q", who, got, err, want)
		}
	}
}
