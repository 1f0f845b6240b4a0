package recall

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/everthread/everthread/internal/fulltest"
)

func newAnalyzer(t testing.TB, languages ...string) *Analyzer {
	t.Helper()
	a, err := NewAnalyzer(languages)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestIndex_terms compares the terms of texts with testdata/analyzer.txt, which has each text with
// its terms below it.
func TestIndex_terms(t *testing.T) {
	t.Parallel()
	a := newAnalyzer(t, "en", "fr", "de")
	golden, err := os.ReadFile("testdata/analyzer.txt")
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for line := range strings.Lines(string(golden)) {
		line = strings.TrimSuffix(line, "\n")
		want, ok := strings.CutPrefix(line, "=")
		if !ok {
			text = line
			continue
		}
		got := strings.Join(slices.Sorted(maps.Keys(a.Index(text))), " ")
		if got != strings.TrimSpace(want) {
			t.Errorf("terms of %q\n got %s\nwant%s", text, got, want)
		}
	}
}

func TestIndex_countsTerms(t *testing.T) {
	t.Parallel()
	got := newAnalyzer(t).Index("Cat, cats and a catalogue; dogs dogs dogs")
	for term, want := range map[string]int{"cat": 2, "cats": 1, "dogs": 2, "dog": 2, "catalogue": 1} {
		if got[term] != want {
			t.Errorf("%s: got %d, want %d", term, got[term], want)
		}
	}
}

func TestLanguages(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		languages []string
		want      string
	}{
		{nil, "recall/1 en,fr"},
		{[]string{"German", "en-GB", "EN"}, "recall/1 de,en"},
		{[]string{"pt_BR", "nb"}, "recall/1 no,pt"},
	} {
		if got := newAnalyzer(t, c.languages...).Version(); got != c.want {
			t.Errorf("%v: got %q, want %q", c.languages, got, c.want)
		}
	}
	_, err := NewAnalyzer([]string{"en", "tlh"})
	if err == nil || !strings.Contains(err.Error(), `"tlh"`) || !strings.Contains(err.Error(), "sv, ta, tr") {
		t.Errorf("got %v, want an error that lists the languages", err)
	}
}

// TestAnalyzer_inflections checks which words find each other, in each language.
func TestAnalyzer_inflections(t *testing.T) {
	t.Parallel()
	a := newAnalyzer(t, "en", "fr", "de", "es", "it", "pt", "nl", "sv")
	for _, c := range [][2]string{
		{"adoptions", "adopted"}, {"running", "runs"}, {"parties", "party"},
		{"chevaux", "cheval"}, {"mangé", "manger"}, {"réservations", "reservation"}, {"l’école", "ecole"},
		{"Häuser", "hausern"}, {"Mueller", "Müller"}, {"groß", "gross"}, {"canciones", "canción"}, {"ragazzi", "ragazzo"},
		{"livros", "livro"}, {"boeken", "boek"}, {"flickorna", "flicka"}, {"книги", "книга"}, {"ёлка", "елки"},
		{"e-mail", "email"}, {"wi-fi", "WiFi"}, {"don’t", "don't"}, {"fooBar", "bar"}, {"ＡＢＣ", "abc"},
		{"5,000", "5000"}, {"2.5", "2,5"}, {"١٢٣", "123"}, {"İstanbul", "istanbul"}, {"ΟΔΟΣ", "οδος"},
	} {
		if !shares(a, c[0], c[1]) || !shares(a, c[1], c[0]) {
			t.Errorf("%q and %q do not find each other", c[0], c[1])
		}
	}
}

// shares reports whether the first content word of query finds text.
func shares(a *Analyzer, query, text string) bool {
	terms := a.Index(text)
	q := a.Query(query)
	return slices.ContainsFunc(q.asked(), func(w Word) bool {
		return slices.ContainsFunc(w.Terms, func(t string) bool { return terms[t] > 0 })
	})
}

func TestQueries(t *testing.T) {
	t.Parallel()
	a := newAnalyzer(t)
	for _, c := range []struct{ query, words, stops string }{
		{"", "", ""},
		{"When did Ana adopt the cat?", "ana adopt cat", "when did the"},
		{"quand est-ce que l'école ferme", "ecole ferme", "quand est ce estce que"},
		{"x", "", "x"},
		{"to be or not to be", "", "to be or not"},
		{`"a" AND (b* NEAR`, "near", "a and b"},
		{"cat cats Cat", "cat cats", ""},
		{"foo_bar", "foo_bar foo*0.4 bar*0.4", ""},
		{"猫", "猫", ""},
		{"東京です", "東京 京で です*0.3", ""},
		{"👍", "👍", ""},
		{"'; DROP TABLE messages; --", "drop table messages", ""},
	} {
		q := a.Query(c.query)
		if got := wordText(q.Words); got != c.words {
			t.Errorf("%q: got words %q, want %q", c.query, got, c.words)
		}
		if got := wordText(q.Stops); got != c.stops {
			t.Errorf("%q: got stop words %q, want %q", c.query, got, c.stops)
		}
	}
}

func wordText(ws []Word) string {
	var out []string
	for _, w := range ws {
		s := w.Text
		if w.Weight != 1 && w.Weight != wholeOfWords {
			s += fmt.Sprintf("*%g", w.Weight)
		}
		out = append(out, s)
	}
	return strings.Join(out, " ")
}

func TestPhrases(t *testing.T) {
	t.Parallel()
	got := newAnalyzer(t).Query(`he said "See you  Later!" and « à bientôt » “so long” "one" "open`).Phrases
	want := [][]string{{"see", "you", "later"}, {"a", "bientot"}, {"so", "long"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestQuery_longCountsItsFirstWords(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&b, "word%c%c ", 'a'+i%26, 'a'+i/26%26)
	}
	if got := len(newAnalyzer(t).Query(b.String()).Words); got != maxWords {
		t.Errorf("got %d words, want %d", got, maxWords)
	}
	if got := len(newAnalyzer(t).Query(strings.Repeat("東京猫犬", 2500)).Words); got > maxWords {
		t.Errorf("got %d words, want at most %d", got, maxWords)
	}
}

// TestIndex_anyTextFindsItself checks that every text is found by each of its words.
func TestIndex_anyTextFindsItself(t *testing.T) {
	t.Parallel()
	a := newAnalyzer(t)
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		terms := a.Index(text)
		check(t.Fatalf, terms)
		q := a.Query(text)
		for _, w := range append(q.Words, q.Stops...) {
			if !slices.ContainsFunc(w.Terms, func(term string) bool { return terms[term] > 0 }) {
				t.Fatalf("%q does not find itself by %q", text, w.Terms)
			}
		}
	})
}

func FuzzAnalyzer(f *testing.F) {
	for _, s := range []string{"", "a", "don't l'été qu'", "foo_bar/baz.Go?x=1", "1,234.56", "東京ｶﾞ", "ที่", "🇫🇷👍🏽",
		"كتابـ", "\xff\xfe\x00", "İ", "'''", "a'b-c'd"} {
		f.Add(s)
	}
	a, err := NewAnalyzer([]string{"ar", "da", "nl", "en", "fi", "fr", "de", "hu", "ga", "it", "no", "porter", "pt", "ro",
		"ru", "es", "sv", "ta", "tr"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		check(t.Fatalf, a.Index(text))
		q := a.Query(text)
		if len(q.Words) > maxWords || len(q.Stops) > maxWords {
			t.Fatalf("got %d words and %d stop words", len(q.Words), len(q.Stops))
		}
	})
}

// check checks that terms keep the contract of core.Analyzer.
func check(fail func(string, ...any), terms map[string]int) {
	if len(terms) > maxTerms {
		fail("got %d terms", len(terms))
	}
	for term, n := range terms {
		if n < 1 || n > 2 || term == "" || len(term) > maxTerm || !utf8.ValidString(term) {
			fail("got term %q with count %d", term, n)
		}
		if strings.ContainsFunc(term, func(r rune) bool {
			return unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune("\"'`^\\", r)
		}) {
			fail("term %q contains a forbidden character", term)
		}
	}
}

func TestIndex_hugeTexts(t *testing.T) {
	t.Parallel()
	a := newAnalyzer(t)
	var b strings.Builder
	large := fulltest.Size(1, 16)
	for i := range 12_500 * large {
		fmt.Fprintf(&b, "w%x ", i)
	}
	check(t.Errorf, a.Index(b.String()))
	for _, s := range []string{strings.Repeat("x", large<<16), strings.Repeat("é", large<<15),
		strings.Repeat("a.", large<<15), strings.Repeat("東", large<<14), strings.Repeat("a'", large<<15)} {
		check(t.Errorf, a.Index(s))
		a.Query(s)
	}
}

func BenchmarkIndex(b *testing.B) {
	a := newAnalyzer(b)
	text := "I went to the market this morning and bought some apples, cheese and a loaf of bread for the picnic that we are planning with Anna and her brother on Saturday, if the weather holds; otherwise we'll meet at my place instead."
	b.ReportAllocs()
	for b.Loop() {
		a.Index(text)
	}
}
