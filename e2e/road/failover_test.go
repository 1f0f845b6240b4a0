//go:build e2e

package road

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/everthread/everthread/e2e/e2etest"
)

// answersAfter is the time from the promotion of a standby to an answer.
const answersAfter = 20 * time.Second

// The primary of a replicated database dies under load, and its standby takes over.
func TestFailover_standbyTakesOver(t *testing.T) {
	t.Parallel()
	servers := e2etest.NewServers(t)
	w := e2etest.NewTown(t, servers.URL)
	running := []*e2etest.Gateway{w.Start(), w.Start()}
	said, killed := make([][]string, 4), make(chan struct{})
	var people sync.WaitGroup
	for chat := range said {
		people.Go(func() {
			for left := 10; left > 0; time.Sleep(100 * time.Millisecond) { // as people write
				text := fmt.Sprintf("message %d of %d", len(said[chat]), chat)
				said[chat] = append(said[chat], text)
				w.Telegram.Say(int64(1000+chat), text)
				select {
				case <-killed: // they continue to write
					left--
				default:
				}
			}
		})
	}
	w.Sent(1000, 3)
	servers.KillPrimary()
	close(killed)
	people.Wait()
	before := len(w.Telegram.Sent(1000))
	servers.Promote()
	promoted := time.Now()
	w.Sent(1000, before+1)
	if d := time.Since(promoted); d > answersAfter {
		t.Errorf("the first answer arrived %s after the promotion", d)
	}
	t.Logf("the first answer arrived %s after the promotion", time.Since(promoted).Round(10*time.Millisecond))
	w.Database = servers.StandbyURL
	l := w.Ledger()
	w.Settle(l, running[0])
	var all e2etest.Repeats
	for chat := range said {
		r := w.Check(l, int64(1000+chat), said[chat])
		all.Marked, all.Missing = all.Marked+r.Marked, all.Missing+r.Missing
	}
	t.Logf("%+v", all)
	if all.Missing > 0 {
		t.Errorf("%d answers are missing", all.Missing)
	}
}
