package web

import "testing"

func TestTodayShowsWhatWasSaid(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.ana.signedIn()
	p.talks("On avance sur les segments journaliers.", "Ok, voici les options...")
	a := p.get("/")
	a.wants(t, 200, "Continuous", "Today", "Yesterday", "Pick date", "Scope", "Go", "Day Summary (Today)", "Timeline (Today)", "On avance", "voici les options", "Type message…", "Send", "Why did it say that?")
}
