//go:build e2e

package channels

import (
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/e2e/e2etest"
)

// A long answer grows in one message, which the next process continues if one dies.
func TestMatrix_answerGrowsInOneMessage(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		h := e2etest.NewHomeserver(t, false)
		w := e2etest.NewTown(t, database(t))
		w.UseModel(e2etest.StartModel(t, 100*time.Millisecond))
		bot := w.OnMatrix(h)
		w.Env = append(w.Env, "EVERTHREAD_TURN_LEASE=3s")
		g := w.Start()
		ada := h.Register("ada")
		room := ada.Chat(bot.ID)
		for n, kill := range []bool{false, true} {
			ada.Say(room, "say 150 words")
			h.Until("the answer begins to show", func() bool { firsts, _ := ada.Shown(room, bot.ID); return len(firsts) > n })
			if kill {
				g.Kill()
				g = w.Start()
			}
			l := w.Ledger()
			l.Until(`SELECT COUNT(*) FROM deliveries WHERE kind = 'reply' AND state IN ('sent', 'delivered', 'read')`, n+1, g)
			firsts, lasts := ada.Shown(room, bot.ID)
			if len(firsts) != n+1 {
				t.Fatalf("%d messages, want %d: %.60q\n%s", len(firsts), n+1, firsts, g.Log.Tail())
			}
			whole := l.Lines(`SELECT body FROM messages WHERE role = 'assistant' AND kind = 'chat' ORDER BY id DESC LIMIT 1`)[0]
			if lasts[n] != whole || len(strings.Fields(whole)) < 150 || len(firsts[n]) >= len(whole) {
				t.Errorf("it began as %.60q and is %d of %d letters in the end\n%s", firsts[n], len(lasts[n]),
					len(whole), g.Log.Tail())
			}
		}
	})
}
