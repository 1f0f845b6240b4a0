package telegram

import "testing"

// The spellings of one person have one form; "": it can be nobody.
func TestListed(t *testing.T) {
	t.Parallel()
	for who, want := range map[string]string{
		"123456": "123456", " 123456 ": "123456", "@ada": "", "ada": "", "-100123": "", "0": "", "12a": "",
	} {
		got, err := (&Config{}).Listed(who)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: got %q, %v, want %q", who, got, err, want)
		}
	}
}
