package text_test

import (
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/everthread/everthread/core/text"
	"github.com/everthread/everthread/core/text/i18n"
)

func TestFold(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		"Été": "ete", "L’Été": "l'ete", "après‐midi, week‑end": "apres-midi, week-end", "ﬁn ２０": "fin 20",
		"İstanbul": "istanbul", "ΆΛΦΑ": "αλφα", "仕事": "仕事", "": "", "\xff": "\uFFFD",
		"Μουσική": "μουσικη", "Йод": "иод", "งานที่": "งานที่", "कि": "कि", "한국": "한국",
		"Œuvre": "oeuvre", "Straße": "strasse",
		"שָׁלוֹם": "שלום", "١٢": "12", "zero\u200bwidth": "zerowidth",
	} {
		if got := text.Fold(s); got != want {
			t.Errorf("%q: got %q, want %q", s, got, want)
		}
	}
}

func TestLists(t *testing.T) {
	t.Parallel()
	got := text.Lists("# a: comment\n\na 1: one | two words\na 1: three\nb: *four: five\nno list\n")
	if is := text.OneOf("loops", "negations"); !is("never") || !is("jamais") || !is("nie") || is("two") || is("") {
		t.Error("a word is not found, or found without being in the list")
	}
	want := map[string][]string{"a 1": {"one", "two words", "three"}, "b": {"*four: five"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q", got)
	}
}

// TestWords checks that the lists of words that are compared with folded ones are folded.
func TestWords(t *testing.T) {
	t.Parallel()
	n := 0
	for _, section := range []string{"recall", "loops", "memory"} {
		for language, lists := range i18n.Read[map[string][]string]("words." + section) {
			for list, lines := range *lists {
				for _, w := range strings.Split(strings.Join(lines, " | "), " | ") {
					if n++; text.Fold(w) != w || strings.TrimSpace(w) != w {
						t.Errorf("%s, words.%s, %s: %q is never found", language, section, list, w)
					}
				}
			}
		}
	}
	if n < 500 {
		t.Errorf("there are %d words", n)
	}
}

func TestDigest(t *testing.T) {
	t.Parallel()
	for _, same := range [][]string{
		{"Ana's birthday is on 3 June.", "ana’s  BIRTHDAY is on 3 june", "«Ana's birthday is on 3 June»!",
			"\"Ana's birthday\" is on 3 June…"},
		{"Préfère le thé", "prefere le the", "Préfère   le thé !"},
		{"Likes tea, not coffee", "Likes tea — not coffee", "- likes tea (not coffee)"},
		{"寿司が好き。", "寿司が好き"},
		{"🎂", " 🎂 "},
	} {
		for _, s := range same[1:] {
			if text.Digest(s) != text.Digest(same[0]) {
				t.Errorf("%q and %q have different digests", s, same[0])
			}
		}
	}
	different := []string{"likes C", "likes C++", "likes C#", "dose 1.5 mg", "dose 15 mg", "dose -5 mg", "dose 5 mg",
		"tea", "not tea", "fever > 38", "fever < 38", "🎂", "🎉", "10 20", "1020", "user@host", "user host"}
	seen := map[string]string{}
	for _, s := range different {
		d := text.Digest(s)
		if seen[d] != "" || len(d) != 64 {
			t.Errorf("%q and %q have the same digest", s, seen[d])
		}
		seen[d] = s
	}
}

func TestClean(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		" a\tb\nc\n": "a\tb\nc", "a\x00b\u0085c\rd": "abcd", "a\xffb": "a\uFFFDb", "\x00": "",
	} {
		if got := text.Clean(s); got != want {
			t.Errorf("%q: got %q, want %q", s, got, want)
		}
	}
}

func TestShortening(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		s                 string
		n                 int
		shortened, within string
	}{
		{"", 3, "", ""}, {"été", 3, "été", "été"}, {"étés", 3, "été…", "ét…"}, {"to be", 3, "to…", "to…"},
		{"ab", 1, "a…", "…"},
	} {
		if got := text.Shorten(c.s, c.n); got != c.shortened {
			t.Errorf("%q shortened to %d is %q", c.s, c.n, got)
		}
		if got := text.Within(c.s, c.n); got != c.within {
			t.Errorf("%q within %d is %q", c.s, c.n, got)
		}
	}
	rapid.Check(t, func(r *rapid.T) {
		s, n := rapid.String().Draw(r, "text"), rapid.IntRange(1, 20).Draw(r, "n")
		if got := text.Within(s, n); utf8.RuneCountInString(got) > n || !strings.HasPrefix(s, strings.TrimSuffix(got, "…")) {
			r.Fatalf("%q within %d is %q", s, n, got)
		}
	})
}

func TestBytes(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0 bytes", 10_239: "10239 bytes", 10_241: "11 KiB", 100 << 20: "100 MiB",
		1<<34 + 1: "17 GiB"} {
		if got := text.Bytes(n); got != want {
			t.Errorf("%d is %s, want %s", n, got, want)
		}
	}
}
