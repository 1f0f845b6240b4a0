package i18n

import "testing"

func TestHeadings(t *testing.T) {
	const stored = "## Summary\nWe went on. ## Goals are no heading here.\n\n## Open loops\n- the roof [#1]\n### Decisions\n"
	for language, want := range map[string]string{
		"en": stored, "xx": stored,
		"fr": "## Résumé\nWe went on. ## Goals are no heading here.\n\n## En suspens\n- the roof [#1]\n### Decisions\n",
		"de": "## Zusammenfassung\nWe went on. ## Goals are no heading here.\n\n## Offen\n- the roof [#1]\n### Decisions\n",
	} {
		if got := Headings(language, stored); got != want {
			t.Errorf("%s: got %q", language, got)
		}
	}
}
