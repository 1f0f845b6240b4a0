//go:build e2e

package channels

import (
	"strings"
	"testing"

	"github.com/everthread/everthread/e2e/e2etest"
)

// A family's group on Signal, with a timer that removes what was said.
func TestGroups_onSignal(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewTown(t, database(t))
		w.Env = append(w.Env, "EVERTHREAD_GROUPS_ENABLED=true")
		model := e2etest.NewObedient(t)
		w.UseModel(model.URL)
		s := w.OnSignal()
		g := w.Start()
		l := w.Ledger()
		const (
			grace = e2etest.Grace
			linus = "4c0c1c00-1111-4222-8333-444455556666"
			group = "Pmpi+EfPWmsxiomLe9Nx2XF9HOE483p6iKiFj65iMwI="
		)
		s.Name(grace, "Grace")
		s.Name(linus, "Linus")
		s.Say(grace, "/start "+g.Logged(`/start ([A-Z0-9]{10})`)[1])
		heardOnSignal(t, s, grace, 1, g)
		s.Say(grace, "My PIN is zq4711.")
		heardOnSignal(t, s, grace, 2, g)
		hears := func(n int) string {
			t.Helper()
			return heardOnSignal(t, s, group, n, g)[n-1].Text
		}
		s.Gather(group, linus, "nothing is kept yet", nil)
		s.Gather(group, linus, "@ are you there?", nil)
		if got := hears(1); !strings.Contains(got, "/approve") {
			t.Errorf("it says %q", got)
		}
		s.Gather(group, grace, "/approve", nil)
		hears(2)
		s.Gather(group, linus, "The pizza is at seven.", nil)
		asked := s.Gather(group, grace, "@ what do you know?", nil)
		if got := heardOnSignal(t, s, group, 3, g)[2]; got.Text != "I have read 2." || got.Quote != asked {
			t.Errorf("it answers %+v to %d", got, asked)
		}
		if p := model.LastPrompt(); strings.Contains(p, "zq4711") || strings.Contains(p, "nothing is kept") ||
			!strings.Contains(p, "Linus>\nThe pizza") {
			t.Errorf("the prompt is %s", p)
		}
		first := s.Sent(group)[2].Timestamp
		s.Gather(group, linus, "and then?", map[string]any{"quote": map[string]any{"id": first, "authorUuid": "", "text": ""}})
		s.Gather(group, linus, "/timezone Paris", nil)
		if got := hears(4); !strings.Contains(got, "administrator") {
			t.Errorf("/timezone of a member says %q", got)
		}
		s.Administers(group, linus)
		s.Gather(group, linus, "/timezone Paris", nil)
		if got := hears(5); !strings.Contains(got, "Paris") {
			t.Errorf("/timezone of an administrator says %q", got)
		}
		l.Until(`SELECT COUNT(*) FROM messages WHERE body = 'The pizza is at seven.'`, 1, g)
		page := g.NewGuest(w.SignInCode("1"))
		page.ReadsGroup(l.Lines(`SELECT id FROM users WHERE role = 'group'`)[0], "The pizza is at seven.")
		s.Leaves(group, grace)
		page.ReadsGroup(l.Lines(`SELECT id FROM users WHERE role = 'group'`)[0], "")
		pizza := s.Gather(group, linus, "I take this back", nil)
		s.Gather(group, linus, "", map[string]any{"message": nil, "remoteDelete": map[string]any{"timestamp": pizza}})
		l.Until(`SELECT COUNT(*) FROM messages m JOIN users u ON u.id = m.user_id WHERE u.role = 'group' AND m.redacted = 1`, 1, g)
		if n := l.Count(`SELECT COUNT(*) FROM users WHERE role = 'group'`); n != 1 {
			t.Errorf("there are %d groups", n)
		}
	})
}
