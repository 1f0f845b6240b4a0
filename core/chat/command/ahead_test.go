package command_test

import (
	"strings"
	"testing"
)

func TestToday_showsWhatIsAhead(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "en")
	before := w.said(w.ada, "/today")
	w.options.Ahead = ahead("## Today\n- **09:00** “Dentist”")
	got := w.said(w.ada, "/today")
	if !strings.HasPrefix(got, before) || !strings.HasSuffix(got, "\n\n## Today\n- **09:00** “Dentist”") || strings.Contains(before, "Dentist") {
		t.Errorf("got %q, before %q", got, before)
	}
	if yesterday := w.said(w.ada, "/yesterday"); strings.Contains(yesterday, "Dentist") {
		t.Errorf("yesterday: %q", yesterday)
	}
}
