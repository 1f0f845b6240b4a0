package i18n

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/feature/plural"
)

// TestCatalogues_everyLanguageSaysAll checks that every language has the same texts as English, of the same
// kind and with the same verbs.
func TestCatalogues_everyLanguageSaysAll(t *testing.T) {
	t.Parallel()
	if len(Languages()) < 2 {
		t.Fatal("there is no language other than English")
	}
	for _, language := range Languages() {
		for _, fault := range differences("", catalogues(English), catalogues(language)) {
			t.Errorf("%s.toml: %s", language, fault)
		}
	}
}

// TestCatalogues_haveTheirOwnWords checks that a language is in one place only, that the program can read it, and that it
// is not a copy of English.
func TestCatalogues_haveTheirOwnWords(t *testing.T) {
	t.Parallel()
	for _, language := range Languages() {
		if slices.Contains(readOnly(), "read/"+language) {
			t.Errorf("%s is a catalogue, and in the folder read", language)
		}
		all := catalogues(language)
		for _, path := range []string{"times.unit", "times.month", "promises.promises", "words.text.small"} {
			if list, _ := at(all, path).([]any); len(list) == 0 {
				t.Errorf("%s.toml: %s is empty, so it is not read in this language", language, path)
			}
		}
		same, texts := copied(catalogues(English), all)
		if language != English && same*10 > texts {
			t.Errorf("%s.toml: %d of %d texts are those of English", language, same, texts)
		}
	}
}

// at returns what is in a catalogue below a path of keys.
func at(c catalogue, path string) any {
	var found any = c
	for key := range strings.SplitSeq(path, ".") {
		table, _ := found.(catalogue)
		found = table[key]
	}
	return found
}

// copied counts the texts of several words, and those that are the same in another catalogue.
func copied(english, other catalogue) (same, texts int) {
	for key, e := range english {
		switch e := e.(type) {
		case string:
			if strings.Count(e, " ") > 1 {
				texts++
				if other[key] == e {
					same++
				}
			}
		case catalogue:
			if o, ok := other[key].(catalogue); ok {
				s, n := copied(e, o)
				same, texts = same+s, texts+n
			}
		}
	}
	return same, texts
}

// differences lists how a catalogue differs from the English one.
func differences(at string, english, other any) []string {
	switch e := english.(type) {
	case string:
		o, ok := other.(string)
		switch {
		case !ok || o == "":
			return []string{at + " is no text"}
		case verbsOf(e) != verbsOf(o):
			return []string{fmt.Sprintf("%s has the verbs %s, not %s", at, verbsOf(o), verbsOf(e))}
		case regexp.MustCompile(`%[^a-z\[%]|%$`).MatchString(strings.ReplaceAll(o, "%%", "")):
			return []string{at + " has a stray %"}
		}
		return nil
	case []any:
		o, ok := other.([]any)
		if !ok {
			return []string{at + " is no list"}
		}
		// Of a fixed length are these; of others a language has as many as it needs.
		if len(o) != len(e) && (strings.HasSuffix(at, ".units") || strings.HasSuffix(at, ".weekdays")) {
			return []string{fmt.Sprintf("%s has %d entries, not %d", at, len(o), len(e))}
		}
		return nil
	}
	e := english.(catalogue)
	o, ok := other.(catalogue)
	if !ok {
		return []string{at + " is missing"}
	}
	if isForms(e) {
		return formDifferences(at, e, o)
	}
	var out []string
	for _, key := range slices.Sorted(maps.Keys(e)) {
		if o[key] == nil {
			out = append(out, at+"."+key+" is missing")
			continue
		}
		out = append(out, differences(at+"."+key, e[key], o[key])...)
	}
	for _, key := range slices.Sorted(maps.Keys(o)) {
		if e[key] == nil {
			out = append(out, at+"."+key+" is not in English")
		}
	}
	return out
}

// isForms reports whether a table contains plural forms. Fill checks which ones a language needs.
func isForms(c catalogue) bool {
	for key := range c {
		if _, ok := formNames[key]; !ok {
			return false
		}
	}
	return c["other"] != nil
}

// TestCatalogues_everyFormIsThere checks that a text has the plural forms that its language needs.
func TestCatalogues_everyFormIsThere(t *testing.T) {
	t.Parallel()
	for _, language := range Languages() {
		forms := 0
		for _, fault := range formFaults(language, "", catalogues(English), catalogues(language), &forms) {
			t.Errorf("%s.toml: %s", language, fault)
		}
		if forms < 40 {
			t.Errorf("%s.toml has %d tables of forms", language, forms)
		}
	}
}

// formFaults reads the tables of forms of a catalogue. The English one says which rules apply: no
// table has the forms of both.
func formFaults(language, at string, english, other catalogue, forms *int) (out []string) {
	for key, e := range english {
		e, table := e.(catalogue)
		o, _ := other[key].(catalogue)
		switch {
		case !table:
		case isForms(e):
			*forms++
			rules := plural.Cardinal
			if _, err := readForms(English, rules, e); err != nil {
				rules = plural.Ordinal
			}
			if _, err := readForms(language, rules, o); err != nil {
				out = append(out, at+"."+key+": "+err.Error())
			}
		default:
			out = append(out, formFaults(language, at+"."+key, e, o, forms)...)
		}
	}
	return out
}

// formDifferences checks that the form "other" has all verbs of the English text, and the other
// forms some of them.
func formDifferences(at string, e, o catalogue) []string {
	want := fmt.Sprint(e["other"])
	var out []string
	for form, text := range o {
		got := fmt.Sprint(text)
		if got != "" && form != "other" && strings.HasPrefix(verbsOf(want), verbsOf(got)) {
			continue
		}
		out = append(out, differences(at+"."+form, want, text)...)
	}
	return out
}

// verbsOf returns the verbs of a text, with their indexes.
func verbsOf(s string) string {
	found := map[string]string{}
	for i, m := range verb.FindAllStringSubmatch(strings.ReplaceAll(s, "%%", ""), -1) {
		place := m[1]
		if place == "" {
			place = fmt.Sprint(i + 1)
		}
		found[place] = m[2]
	}
	var out []string
	for _, place := range slices.Sorted(maps.Keys(found)) {
		out = append(out, place+found[place])
	}
	return strings.Join(out, " ")
}

// TestCatalogues_findEachFault breaks each rule in a small catalogue.
func TestCatalogues_findEachFault(t *testing.T) {
	t.Parallel()
	english := catalogue{"a": "for %s and %d", "n": catalogue{"one": "%s thing", "other": "%s things"},
		"t": catalogue{"x": "y"}}
	for name, c := range map[string]struct {
		other catalogue
		want  string
	}{
		"fine": {catalogue{"a": "%[2]d and %[1]s", "n": catalogue{"one": "a thing", "other": "%s"},
			"t": catalogue{"x": "z"}}, ""},
		"a missing text": {catalogue{"n": catalogue{"other": "%s"}, "t": catalogue{"x": "z"}}, ".a is missing"},
		"an extra text": {catalogue{"a": "%s%d", "b": "c", "n": catalogue{"other": "%s"}, "t": catalogue{"x": "z"}},
			".b is not in English"},
		"another verb": {catalogue{"a": "%s and %s", "n": catalogue{"other": "%s"}, "t": catalogue{"x": "z"}}, "verbs"},
		"no number": {catalogue{"a": "%s%d", "n": catalogue{"other": "things"}, "t": catalogue{"x": "z"}},
			".n.other has the verbs"},
		"a stray percent": {catalogue{"a": "%s%d 5 %", "n": catalogue{"other": "%s"}, "t": catalogue{"x": "z"}},
			"stray"},
		"a table is a text": {catalogue{"a": "%s%d", "n": catalogue{"other": "%s"}, "t": "z"}, ".t is missing"},
	} {
		got := strings.Join(differences("", english, c.other), "; ")
		if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func TestFill_isStrict(t *testing.T) {
	t.Parallel()
	type fine struct {
		First, Others, Date, Today, Yesterday string
		Months, Weekdays                      []string
	}
	if err := Fill("fr", "calendar", new(fine)); err != nil {
		t.Error(err)
	}
	for want, into := range map[string]any{
		"weekdays: unknown key":            new(struct{ First, Others, Date, Today, Yesterday string }),
		"evening: it is missing":           new(struct{ Evening string }),
		"first: it is no list":             new(struct{ First []string }),
		"months: it is no text":            new(struct{ Months string }),
		"months: it has 12 entries, not 2": new(struct{ Months [2]string }),
		"date: it is no table":             new(struct{ Date map[string]string }),
		"today: it is no table of plural":  new(struct{ Today Counted }),
		"first: a int cannot be filled":    new(struct{ First int }),
	} {
		if err := Fill("fr", "calendar", into); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "fr.toml, section calendar") {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if Fill("xx", "calendar", new(fine)) == nil || Fill("fr", "nothing", new(fine)) == nil {
		t.Error("a missing section was filled without an error")
	}
}

func TestPluralForms(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		language string
		from     catalogue
		want     string
	}{
		{"en", catalogue{"one": "a", "other": "b"}, ""}, {"en", catalogue{"other": "b"}, `"one" is missing`},
		{"en", catalogue{"one": "a"}, `"other" is missing`},
		{"en", catalogue{"one": "a", "few": "c", "other": "b"}, `"few" is not a plural form`},
		{"en", catalogue{"one": "a", "some": "c", "other": "b"}, `"some" is not a plural form`},
		{"pl", catalogue{"one": "a", "few": "c", "many": "d"}, ""}, {"ja", catalogue{"other": "b"}, ""},
		{"ja", catalogue{"one": "a", "other": "b"}, `"one" is not a plural form`},
	} {
		var into struct{ X Counted }
		err := fillStruct(c.language, reflect.ValueOf(&into).Elem(), catalogue{"x": c.from})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, %v: got %v, want %q", c.language, c.from, err, c.want)
		}
	}
}

func TestCounting(t *testing.T) {
	t.Parallel()
	type texts struct {
		N Counted
		R Ranked
	}
	words := func(language string, n, r catalogue) (w texts) {
		if err := fillStruct(language, reflect.ValueOf(&w).Elem(), catalogue{"n": n, "r": r}); err != nil {
			t.Fatal(err)
		}
		return w
	}
	en := words("en", catalogue{"one": "one of %[2]s", "other": "%s of %s"},
		catalogue{"one": "%sst", "two": "%snd", "few": "%srd", "other": "%sth"})
	fr := words("fr", catalogue{"one": "%s jour", "other": "%s jours"}, catalogue{"one": "%ser", "other": "%s"})
	for got, want := range map[string]string{
		en.N.Of(1, "x"): "one of x", en.N.Of(0, "x"): "0 of x", en.N.Of(12345, "x"): "12,345 of x", fr.N.Of(0): "0 jour",
		fr.N.Of(2): "2 jours", fr.N.Of(20000): "20\u202f000 jours", en.R.Of(1): "1st", en.R.Of(11): "11th",
		en.R.Of(22): "22nd", en.R.Of(13): "13th", en.R.Of(23): "23rd", fr.R.Of(1): "1er", fr.R.Of(31): "31",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestLanguages(t *testing.T) {
	t.Parallel()
	if all := Languages(); all[0] != "en" || !slices.Contains(all, "fr") || !slices.IsSorted(all[1:]) {
		t.Errorf("got %v", all)
	}
	for tag, want := range map[string]string{"fr": "fr", "FR": "fr", "fr-CA": "fr", "fr_FR.UTF-8": "fr", "frr": "en",
		"": "en", "tlh": "en", "en-GB": "en"} {
		if got := Match(tag); got != want {
			t.Errorf("%q: got %s, want %s", tag, got, want)
		}
	}
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	for got, want := range map[string]string{
		Number("en", 1234567): "1,234,567", Number("fr", 1234567): "1\u202f234\u202f567", Number("en", 999): "999",
		Number("en", -1000): "−1,000", Number("en", 0): "0", Decimal("fr", 2.149, 1): "2,1", Decimal("en", 0.5,
			2): "0.50",
		Percent("fr", 12): "12\u202f%", Percent("en", 12): "12%", List("en", "a", "b", "c"): "a, b and c",
		List("fr", "a", "b"): "a et b", List("en", "a"): "a", List("en"): "",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	for field, want := range map[string]string{"Skip": "skip", "SignInAs": "sign_in_as", "WebURL": "web_url",
		"URLHelp": "url_help", "GoodByeA": "good_bye_a", "A": "a"} {
		if got := keyOf(field); got != want {
			t.Errorf("%s: got %s, want %s", field, got, want)
		}
	}
}

func TestLocale_fromTheEnvironment(t *testing.T) {
	t.Parallel()
	for want, env := range map[string]map[string]string{
		"fr": {"LANG": "fr_CA.UTF-8"}, "de": {"LANG": "de.UTF-8", "LC_ALL": ""}, English: {"LANG": "fr_FR",
			"LC_ALL": "en_GB"},
	} {
		if got := Locale(func(name string) string { return env[name] }); got != want {
			t.Errorf("%v: got %s", env, got)
		}
	}
	for _, tag := range []string{"C", "", "POSIX", "es_ES"} {
		if got := Locale(func(string) string { return tag }); got != English {
			t.Errorf("%s: got %s", tag, got)
		}
	}
}
