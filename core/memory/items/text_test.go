package items_test

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/memory/items"
)

func TestSlug(t *testing.T) {
	t.Parallel()
	for theme, want := range map[string]string{
		"": "general", "  ": "general", "Work": "work", "Home  Improvement": "home-improvement",
		"Santé & Bien-être": "sante-bien-etre", "--a--b--": "a-b", "C++": "c", "仕事": "仕事", "Μουσική": "μουσικη",
		"ÉTÉ 2026": "ete-2026", "a_b/c": "a-b-c", "งาน": "งาน", "ﬁn": "fin",
		"ǅ᮪": "dz᮪", "यात्रा": "यात्रा",
		strings.Repeat("x", 64): strings.Repeat("x", 64), " x" + strings.Repeat(" ", 400): "x",
	} {
		if got, err := items.Slug(theme); err != nil || got != want {
			t.Errorf("%q: got %q, %v, want %q", theme, got, err, want)
		}
	}
	for theme, want := range map[string]string{
		strings.Repeat("theme ", 50): "at most 64 bytes", strings.Repeat("x", 65): "at most 64 bytes",
		strings.Repeat("é", 300): "at most 64 bytes", strings.Repeat("仕", 22): "at most 64 bytes", "🎂": "no letters",
		"---": "no letters",
	} {
		if got, err := items.Slug(theme); !errors.Is(err, core.ErrRefused) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %q, %v", theme, got, err)
		}
	}
}

func TestSlug_properties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		slug, err := items.Slug(rapid.String().Draw(r, "theme"))
		if err != nil {
			return
		}
		again, err := items.Slug(slug)
		if err != nil || again != slug || len(slug) > 64 || slug == "" || !utf8.ValidString(slug) ||
			strings.ContainsAny(slug, " \n\"'<>") {
			r.Fatalf("%q, then %q, %v", slug, again, err)
		}
	})
}

func TestAdd_tellsNearDuplicates(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		there, new string
		told       bool
	}{
		{"Ana lives in Lyon", "Ana is living in Lyon now", false},
		{"Ana lives in Lyon", "Lyon: Ana lives there", true},
		{"Prefers short answers in French", "The user prefers short French answers", true},
		{"Préfère les réponses courtes", "prefere des reponses courtes", true},
		{"Likes tea", "Likes coffee", false},
		{"Works at Acme as an engineer in Paris", "Works at Acme as an engineer in Berlin",
			true}, // one of them may have to be archived
		{"tea", "Tea!!", false},
		{"Allergic to nuts", "Ana's phone number is 0612345678", false},
	} {
		w := newWorld(t)
		w.keep(c.there, "x")
		w.keep("Something else of another theme", "y")
		got := w.must("memory_add", `{"type":"fact","theme":"x","content":"`+c.new+`"}`)
		if (got["similar"] != nil) != c.told {
			t.Errorf("%q after %q: got %v", c.new, c.there, got)
		}
	}
}
