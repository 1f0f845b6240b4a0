package importer_test

import (
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/archive/importer"
	"github.com/everthread/everthread/core/plan"
	"github.com/everthread/everthread/core/text/i18n"
)

// TestWhy_isTranslated checks that every reason for skipping a reminder has a text
// in every language.
func TestWhy_isTranslated(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	for _, r := range []core.Plan{
		{Text: strings.Repeat("x", 1001), DueAt: now},
		{Text: "tea", DueAt: now.AddDate(11, 0, 0)},
		{Text: "tea", DueAt: now, Cron: "0 0 30 2 *"},
		{Text: "tea", DueAt: now, Cron: "* * * * *"},
	} {
		err := plan.Settings{}.Admit(r, now)
		if err == nil {
			t.Fatalf("%+v is admitted", r)
		}
		if got := importer.Why(i18n.English, err.Error()); got != err.Error() {
			t.Errorf("%q is %q in English", err, got)
		}
		for _, language := range i18n.Languages()[1:] {
			if got := importer.Why(language, err.Error()); got == err.Error() || strings.Contains(got, "%") {
				t.Errorf("%q is %q in %s", err, got, language)
			}
		}
	}
}
