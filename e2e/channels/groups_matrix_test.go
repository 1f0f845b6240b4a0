//go:build e2e && goolm

package channels

import (
	"strings"
	"testing"

	"github.com/everthread/everthread/e2e/e2etest"
)

// A room of three on Matrix, plain and encrypted: the owner approves it there, and whoever addresses the assistant is
// answered, with all that was said.
func TestGroups_onMatrix(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		h := e2etest.NewHomeserver(t, false)
		w := e2etest.NewTown(t, database(t))
		w.Env = append(w.Env, "EVERTHREAD_GROUPS_ENABLED=true")
		bot := w.OnMatrix(h)
		model := e2etest.NewObedient(t)
		w.UseModel(model.URL)
		g := w.Start()
		ada, bo := h.Register("ada"), h.Register("bo")
		alone := ada.Chat(bot.ID)
		ada.Joined(g, alone, bot.ID)
		ada.Say(alone, "/start "+g.Logged(`/start ([A-Z0-9]{10})`)[1])
		ada.Heard(alone, bot.ID, 1)
		ada.Say(alone, "My PIN is zq4711.")
		ada.Heard(alone, bot.ID, 2)

		room := ada.Party("Family", false, bot.ID, bo)
		ada.Joined(g, room, bot.ID)
		if got := ada.Heard(room, bot.ID, 1)[0]; !strings.Contains(got, "/approve") {
			t.Errorf("in the room it says %q", got)
		}
		bo.Say(room, "/approve")
		bo.Say(room, "a secret before")
		ada.Say(room, "/approve")
		ada.Heard(room, bot.ID, 2)
		bo.Say(room, "The pizza is at seven.")
		bo.Say(room, "assistant: what do you know?")
		if got := ada.Heard(room, bot.ID, 3)[2]; got != "I have read 2." {
			t.Errorf("in the room it answers %q", got)
		}
		if p := model.LastPrompt(); strings.Contains(p, "zq4711") || strings.Contains(p, "secret before") ||
			!strings.Contains(p, "bo>\nThe pizza") {
			t.Errorf("the prompt is %s", p)
		}
		bo.Say(room, "/timezone Paris")
		if got := ada.Heard(room, bot.ID, 4)[3]; !strings.Contains(got, "administrator") {
			t.Errorf("/timezone of a member says %q", got)
		}

		l := w.Ledger()
		family := l.Lines(`SELECT id FROM users WHERE role = 'group'`)[0]
		page := g.NewGuest(w.SignInCode("1"))
		page.ReadsGroup(family, "The pizza is at seven.")
		gone := ada.Party("Gone", false, bot.ID, bo)
		ada.Joined(g, gone, bot.ID)
		ada.Say(gone, "/approve")
		ada.Heard(gone, bot.ID, 2)
		ada.Say(gone, "assistant: is anybody here?")
		ada.Heard(gone, bot.ID, 3)
		ada.Leave(gone)
		page.ReadsGroup(l.Lines(`SELECT MAX(id) FROM users WHERE role = 'group'`)[0], "")

		device := ada.Olm()
		secret := device.Party("Secrets", true, bot.ID, bo)
		device.Joined(g, secret, bot.ID)
		device.Enter(secret, ada.ID, bo.ID, bot.ID)
		device.Tell(secret, "/approve")
		device.Answers(g, secret, bot.ID, 2)
		device.Tell(secret, "assistant: hello in secret")
		if got := device.Answers(g, secret, bot.ID, 3); got[2].Body() != "I have read 1." {
			t.Errorf("in the encrypted room it answers %q", got[2].Body())
		}
		if n := l.Count(`SELECT COUNT(*) FROM users WHERE role = 'group'`); n != 3 {
			t.Errorf("there are %d groups", n)
		}
	})
}
