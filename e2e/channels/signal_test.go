//go:build e2e

package channels

import (
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/e2e/e2etest"
)

func TestMatrix_personIsAnswered(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		h := e2etest.NewHomeserver(t, false)
		w := e2etest.NewTown(t, database(t))
		bot := w.OnMatrix(h)
		g := w.Start()
		ada := h.Register("ada")
		room := ada.Chat(bot.ID)
		ada.Say(room, "hello from Matrix")
		if got := ada.Heard(room, bot.ID, 1); !strings.Contains(got[0], "hello from Matrix") {
			t.Errorf("answered %q\n%s", got[0], g.Log.Tail())
		}
		g.Kill()
		ada.Say(room, "said while it was down")
		g = w.Start()
		if got := ada.Heard(room, bot.ID, 2); !strings.Contains(got[1], "said while it was down") {
			t.Errorf("answered %q\n%s", got, g.Log.Tail())
		}
		time.Sleep(time.Second) // nothing more may arrive, which has no event
		if got := ada.Heard(room, bot.ID, 2); len(got) != 2 {
			t.Errorf("%d answers: %q", len(got), got)
		}
	})
}

func TestSignal_personIsAnswered(t *testing.T) {
	t.Parallel()
	h := e2etest.NewHomeserver(t, true)
	w := e2etest.NewTown(t, "")
	bot := w.OnMatrix(h, "signal="+e2etest.BridgeBot)
	bot.Link()
	g := w.Start()
	h.Act("say", map[string]any{"chat": e2etest.Alice, "name": "Alice", "id": "in-1", "text": "hello from Signal"})
	if got := h.Signals(e2etest.Alice, "text", 1); !strings.Contains(got[0].Text, "hello from Signal") {
		t.Errorf("answered %q\n%s", got[0].Text, g.Log.Tail())
	}
	l := w.Ledger()
	l.Until(`SELECT COUNT(*) FROM deliveries WHERE channel = 'signal' AND state = 'delivered'`, 1, g)
	h.Act("say", map[string]any{"chat": e2etest.Alice, "from": "me", "id": "in-2", "text": "typed on the phone"})
	l.Until(`SELECT COUNT(*) FROM messages WHERE role = 'assistant' AND body = 'typed on the phone'`, 1, g)
	h.Act("say", map[string]any{"chat": e2etest.Alice, "id": "in-3", "text": "and again"})
	if got := h.Signals(e2etest.Alice, "text", 2); len(got) != 2 || !strings.Contains(got[1].Text, "and again") {
		t.Errorf("answered %q\n%s", got, g.Log.Tail())
	}
}
