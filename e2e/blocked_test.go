//go:build e2e

package e2e

import (
	"slices"
	"testing"
	"time"

	"github.com/everthread/everthread/adapters/telegram/telegramtest"
)

func TestAReminderForWhoBlockedTheBotComesAfterTheyWriteAgain(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := newClock(t, database(t))
		g := w.start()
		w.remindIn("in 1 hour", "fetch the parcel")
		w.telegram.Fail("sendMessage", 1, telegramtest.Failure{Code: 403})
		w.set(w.now().Add(time.Hour + time.Second))
		l := w.ledger()
		l.until(`SELECT COUNT(*) FROM deliveries WHERE kind = 'reminder' AND state = 'parked'`, 1, g)
		w.wantTold(g)
		w.set(w.now().Add(3 * time.Hour))
		w.ask("I am back")
		w.receive()
		w.settle(l, g)
		if got := texts(w.telegram.Sent(ada))[1:]; !slices.Equal(got, []string{"echo: I am back", "⏰ fetch the parcel"}) {
			t.Errorf("got %q\n%s", got, g.log)
		}
	})
}
