package settings

import (
	"testing"

	"github.com/everthread/everthread/core/store/sqlstore"
)

func TestTraces_everyPlaceHasAName(t *testing.T) {
	for _, lang := range []string{"en", "fr"} {
		for _, table := range sqlstore.Tables() {
			if len(table.Words) > 0 && say(lang).Settings.Places[table.Name] == "" {
				t.Errorf("%s: no text for %s", lang, table.Name)
			}
		}
	}
}
