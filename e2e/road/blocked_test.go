//go:build e2e

package road

import (
	"slices"
	"testing"
	"time"

	"github.com/everthread/everthread/adapters/telegram/telegramtest"
	"github.com/everthread/everthread/e2e/e2etest"
)

func TestReminders_comeAfterTheBlockIsLifted(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewClock(t, database(t))
		g := w.Start()
		w.RemindIn("in 1 hour", "fetch the parcel")
		w.Telegram.Fail("sendMessage", 1, telegramtest.Failure{Code: 403})
		w.Set(w.Now().Add(time.Hour + time.Second))
		l := w.Ledger()
		l.Until(`SELECT COUNT(*) FROM deliveries WHERE kind = 'reminder' AND state = 'parked'`, 1, g)
		w.WantTold(g)
		w.Set(w.Now().Add(3 * time.Hour))
		w.Ask("I am back")
		w.Receive()
		w.Settle(l, g)
		if got := e2etest.Texts(w.Telegram.Sent(e2etest.Ada))[1:]; !slices.Equal(got,
			[]string{"echo: I am back", "⏰ fetch the parcel"}) {
			t.Errorf("got %q\n%s", got, g.Log)
		}
	})
}
