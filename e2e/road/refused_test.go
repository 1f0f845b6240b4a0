//go:build e2e

package road

import (
	"strings"
	"testing"

	"github.com/everthread/everthread/e2e/e2etest"
)

// linkBob makes Bob's chat a second app of the owner, Ada.
func linkBob(w *e2etest.Town, g *e2etest.Gateway) {
	w.AddOwner(g)
	w.Telegram.Say(e2etest.Ada, "/link")
	w.Telegram.Say(e2etest.Bob, "/link "+e2etest.ShownCode.FindString(w.Sent(e2etest.Ada, 2)[1].Text))
	w.Sent(e2etest.Ada, 3)
	w.Telegram.Say(e2etest.Ada, "OWNER")
	w.Sent(e2etest.Ada, 4)
	w.Sent(e2etest.Bob, 2)
}

// A message that the model's server refuses is not tried again because of what its person says
// in another app, and is answered when it is edited.
func TestARefusedMessageDoesNotComeBack(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewTown(t, database(t))
		m := newMoody(t)
		w.UseModel(m.URL)
		g := w.Start()
		linkBob(w, g)
		m.trouble(0, refuses(t, "abracadabra"))
		refused := w.Telegram.Say(e2etest.Ada, "abracadabra")
		if got := w.Sent(e2etest.Ada, 5)[4].Text; !strings.Contains(got, "didn't accept") {
			t.Fatalf("got %q", got)
		}
		for n, text := range []string{"and now?", "and then?"} {
			w.Telegram.Say(e2etest.Bob, text)
			if got := w.Sent(e2etest.Bob, n+3)[n+2].Text; got != "echo: "+text {
				t.Errorf("got %q", got)
			}
		}
		w.Ledger().Until(`SELECT (SELECT COUNT(*) FROM jobs WHERE key LIKE 'thread:%') +
			(SELECT COUNT(*) FROM turns WHERE state = 'running')`, 0, g)
		if got := e2etest.Texts(w.Telegram.Sent(e2etest.Ada))[4:]; len(got) > 1 {
			t.Errorf("it came back: %q\n%s", got, g.Log)
		}
		w.Telegram.Edit(e2etest.Ada, refused, "open sesame")
		w.Answered(t, g, "echo: open sesame")
	})
}
