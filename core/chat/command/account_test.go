package command_test

import (
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
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

func TestUsage_ofAMonthInThreeLanguages(t *testing.T) {
	t.Parallel()
	for language, want := range map[string][]string{
		"en": {"**October 2026**: 1,010,000 tokens in 2 calls · 1.10 EUR", "Answers 1,000,000 · Summaries 10,000",
			"Answers and tasks of the month: 1.00 EUR.", "- small (cheap): 0.50 EUR", "- qwen (home): price unknown"},
		"de": {"**Oktober 2026**: 1.010.000 Tokens in 2 Aufrufen · 1,10 EUR", "Antworten 1.000.000 · Zusammenfassungen 10.000",
			"Antworten und Aufgaben des Monats: 1,00 EUR.", "- small (cheap): 0,50 EUR", "- qwen (home): Preis unbekannt"},
		"fr": {"**octobre 2026** : 1 010 000 jetons en 2 appels · 1,10 EUR", "Réponses 1 000 000 · Résumés 10 000",
			"Réponses et tâches du mois : 1,00 EUR.", "- small (cheap): 0,50 EUR", "- qwen (home): prix inconnu"},
	} {
		w := newWorld(t, language)
		w.options.Prices = core.PriceList{{Model: "large", Prices: core.Prices{Prompt: 1, Completion: 10, Currency: "EUR"}},
			{Name: "cheap", Model: "small", Prices: core.Prices{Prompt: 0.5, Currency: "EUR"}}, {Name: "home", Model: "qwen"}}
		w.options.Models = func(core.UserID) []core.ModelChoice { return w.options.Prices }
		w.spends(w.ada, "2026-10-01", core.ForAnswer, "large", core.Usage{Prompt: 1_000_000})
		w.spends(w.ada, "2026-10-31", core.ForSummary, "large", core.Usage{Completion: 10_000})
		w.spends(w.ada, "2026-11-01", core.ForAnswer, "large", core.Usage{Prompt: 777})
		w.spends(w.bo, "2026-10-31", core.ForAnswer, "large", core.Usage{Prompt: 999})
		asked := map[string]string{"en": "/usage last month", "de": "/usage letzter Monat", "fr": "/usage mois dernier"}[language]
		out, _ := w.ask(w.ada, asked)
		for _, line := range want {
			if said := strings.ReplaceAll(out.Text, " ", " "); !strings.Contains(said, strings.ReplaceAll(line, " ", " ")) {
				t.Errorf("%s: %q is not in %q", language, line, out.Text)
			}
		}
	}
}
