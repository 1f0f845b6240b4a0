//go:build e2e

package e2e

import (
	"strings"
	"testing"
	"time"
)

// shown is what a person sees of somebody's messages in a room: the first text of
// each, and its last edit.
func (a *account) shown(room, sender string) (firsts, lasts []string) {
	a.h.t.Helper()
	index := map[string]int{}
	for _, e := range a.timeline(room) {
		if e.Sender != sender || e.Type != "m.room.message" {
			continue
		}
		relation, _ := e.Content["m.relates_to"].(map[string]any)
		fresh, _ := e.Content["m.new_content"].(map[string]any)
		if target, _ := relation["event_id"].(string); fresh != nil {
			if i, ok := index[target]; ok {
				lasts[i], _ = fresh["body"].(string)
			}
			continue
		}
		index[e.ID] = len(firsts)
		firsts, lasts = append(firsts, e.body()), append(lasts, e.body())
	}
	return firsts, lasts
}

// A long answer grows in one message, which a process that dies leaves to the next.
func TestAnAnswerOnMatrixGrowsInOneMessage(t *testing.T) {
	t.Parallel()
	h := newHomeserver(t, false)
	w := newTown(t, "")
	w.useModel(startModel(t, 100*time.Millisecond))
	bot := w.onMatrix(h)
	w.env = append(w.env, "EVERTHREAD_TURN_LEASE=3s")
	g := w.start()
	ada := h.register("ada")
	room := ada.chat(bot.id)
	for n, kill := range []bool{false, true} {
		ada.say(room, "say 150 words")
		h.until("the answer begins to show", func() bool { firsts, _ := ada.shown(room, bot.id); return len(firsts) > n })
		if kill {
			g.kill()
			g = w.start()
		}
		l := w.ledger()
		l.until(`SELECT COUNT(*) FROM deliveries WHERE kind = 'reply' AND state IN ('sent', 'delivered', 'read')`, n+1, g)
		firsts, lasts := ada.shown(room, bot.id)
		if len(firsts) != n+1 {
			t.Fatalf("%d messages, want %d: %.60q\n%s", len(firsts), n+1, firsts, g.log.tail())
		}
		whole := l.lines(`SELECT body FROM messages WHERE role = 'assistant' AND kind = 'chat' ORDER BY id DESC LIMIT 1`)[0]
		if lasts[n] != whole || len(strings.Fields(whole)) < 150 || len(firsts[n]) >= len(whole) {
			t.Errorf("it began as %.60q and is %d of %d letters in the end\n%s", firsts[n], len(lasts[n]), len(whole), g.log.tail())
		}
	}
}
