package command_test

import (
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/core/store"
)

func TestUsage_ofAllIsForOwners(t *testing.T) {
	t.Parallel()
	for language, want := range map[string]string{"en": "Everyone together, today (UTC): 250 of 1,000 tokens (25%).",
		"fr": "aujourd’hui (UTC)\u00a0: 250 jetons sur 1\u202f000 (25\u202f%)."} {
		w := newWorld(t, language)
		_, err := w.Grant(w.ctx, store.Grant{Day: w.now.UTC().Format(time.DateOnly), Worker: "w", Used: 250, Want: 50,
			PerDay: 1000, Now: w.now, Until: w.now.Add(time.Hour)})
		must(t, err)
		if out, _ := w.ask(w.ada, "/usage"); strings.Contains(out.Text, "UTC") {
			t.Errorf("without a limit: %q", out.Text)
		}
		w.options.Defaults.AllTokensPerDay = 1000
		if out, _ := w.ask(w.ada, "/usage"); !strings.Contains(out.Text, want) {
			t.Errorf("the owner reads %q", out.Text)
		}
		if out, _ := w.ask(w.bo, "/usage"); strings.Contains(out.Text, "UTC") {
			t.Errorf("a member reads %q", out.Text)
		}
	}
}
