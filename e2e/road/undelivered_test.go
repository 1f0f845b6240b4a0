//go:build e2e

package road

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/everthread/everthread/adapters/telegram/telegramtest"
	"github.com/everthread/everthread/e2e/e2etest"
)

// A person whose answer an app does not take is told once, in another app, and nothing that
// they say there sends it again. It is sent when they write where it was refused, unless the
// service refused the message itself: that one the owner can send again.
func TestUndelivered_isToldInAnotherApp(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		failure     telegramtest.Failure
		state, told string
		later       []string // what arrives when they write there again
	}{
		"blocked": {telegramtest.Failure{Code: 403}, "parked", "I can't reach you", []string{"echo: again", "echo: lost"}},
		"no chat": {telegramtest.Failure{Code: 400, Description: "Bad Request: chat not found"}, "parked",
			"I can't reach you", []string{"echo: again", "echo: lost"}},
		"refused": {telegramtest.Failure{Code: 400, Description: "Bad Request: message is too long"}, "failed",
			"was refused for good", []string{"echo: again"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
				w := e2etest.NewTown(t, database(t))
				g := w.Start()
				linkBob(w, g)
				w.Telegram.Fail("sendMessage", 1, c.failure)
				w.Telegram.Say(e2etest.Ada, "lost")
				told := w.Sent(e2etest.Bob, 3)[2].Text
				if !strings.Contains(told, c.told) || !strings.Contains(told, fmt.Sprint(e2etest.Ada)) ||
					!strings.Contains(told, "echo: lost") {
					t.Errorf("told: %q", told)
				}
				for n, text := range []string{"and now?", "and then?"} {
					w.Telegram.Say(e2etest.Bob, text)
					if got := w.Sent(e2etest.Bob, n+4)[n+3].Text; got != "echo: "+text {
						t.Errorf("got %q", got)
					}
				}
				w.Settle(w.Ledger(), g)
				if got := w.MustRun("deliveries", "list"); !strings.Contains(got, c.state) {
					t.Errorf("deliveries are\n%s", got)
				}
				w.Telegram.Say(e2etest.Ada, "again")
				w.Sent(e2etest.Ada, 4+len(c.later))
				w.Settle(w.Ledger(), g)
				if got := e2etest.Texts(w.Telegram.Sent(e2etest.Ada))[4:]; !slices.Equal(got, c.later) {
					t.Errorf("Ada got %q, want %q\n%s", got, c.later, g.Log)
				}
				if n := len(w.Telegram.Sent(e2etest.Bob)); n != 5 {
					t.Errorf("Bob got %d messages, want 5", n)
				}
			})
		})
	}
}
