//go:build e2e

package e2e

import (
	"strings"
	"testing"
	"time"
)

// alice is a person on the bridged network.
const alice = "11111111-bbbb-4000-8000-000000000002"

// onMatrix has a town's gateway serve an account of a homeserver.
func (w *town) onMatrix(h *homeserver, bridges ...string) *account {
	w.t.Helper()
	bot := h.register("assistant")
	w.env = append(w.env, "EVERTHREAD_CHANNELS_MATRIX_HOMESERVER="+h.url, "EVERTHREAD_CHANNELS_MATRIX_USER_ID="+bot.id,
		"EVERTHREAD_CHANNELS_MATRIX_ACCESS_TOKEN="+bot.token, "EVERTHREAD_CHANNELS_MATRIX_AUTOJOIN=*:"+serverName,
		"EVERTHREAD_CHANNELS_MATRIX_BRIDGES="+strings.Join(bridges, ","))
	return bot
}

func TestAPersonIsAnsweredOnMatrix(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		h := newHomeserver(t, false)
		w := newTown(t, database(t))
		bot := w.onMatrix(h)
		g := w.start()
		ada := h.register("ada")
		room := ada.chat(bot.id)
		ada.say(room, "hello from Matrix")
		if got := ada.heard(room, bot.id, 1); !strings.Contains(got[0], "hello from Matrix") {
			t.Errorf("answered %q\n%s", got[0], g.log.tail())
		}
		g.kill()
		ada.say(room, "said while it was down")
		g = w.start()
		if got := ada.heard(room, bot.id, 2); !strings.Contains(got[1], "said while it was down") {
			t.Errorf("answered %q\n%s", got, g.log.tail())
		}
		time.Sleep(time.Second) // nothing more must come, which has no event
		if got := ada.heard(room, bot.id, 2); len(got) != 2 {
			t.Errorf("%d answers: %q", len(got), got)
		}
	})
}

func TestAPersonIsAnsweredOnSignal(t *testing.T) {
	t.Parallel()
	h := newHomeserver(t, true)
	w := newTown(t, "")
	bot := w.onMatrix(h, "signal="+bridgeBot)
	bot.link()
	g := w.start()
	h.act("say", map[string]any{"chat": alice, "name": "Alice", "id": "in-1", "text": "hello from Signal"})
	if got := h.signals(alice, "text", 1); !strings.Contains(got[0].Text, "hello from Signal") {
		t.Errorf("answered %q\n%s", got[0].Text, g.log.tail())
	}
	l := w.ledger()
	l.until(`SELECT COUNT(*) FROM deliveries WHERE channel = 'signal' AND state = 'delivered'`, 1, g)
	h.act("say", map[string]any{"chat": alice, "from": "me", "id": "in-2", "text": "typed on the phone"})
	l.until(`SELECT COUNT(*) FROM messages WHERE role = 'assistant' AND body = 'typed on the phone'`, 1, g)
	h.act("say", map[string]any{"chat": alice, "id": "in-3", "text": "and again"})
	if got := h.signals(alice, "text", 2); len(got) != 2 || !strings.Contains(got[1].Text, "and again") {
		t.Errorf("answered %q\n%s", got, g.log.tail())
	}
}
