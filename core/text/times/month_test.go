package times

import "testing"

func TestMonth_inEveryLanguage(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"2026-10": "2026-10", "2026-3": "2026-03", " 2025-12 ": "2025-12",
		"October": "2026-10", "last month": "2026-10", "this month": "2026-11", "december": "2025-12",
		"october 2025": "2025-10", "letzten Monat": "2026-10", "Oktober": "2026-10", "März 2026": "2026-03",
		"le mois dernier": "2026-10", "août": "2026-08", "août 2025": "2025-08",
		"": "", "soon": "", "yesterday": "", "last week": "", "2026": "", "2026-13": "", "19 november": "",
	} {
		got := ""
		if m, ok := Month(said, "2026-11-19"); ok {
			got = m.Format("2006-01")
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", said, got, want)
		}
	}
}
