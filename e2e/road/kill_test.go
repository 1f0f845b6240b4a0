//go:build e2e

package road

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/everthread/everthread/adapters/telegram/telegramtest"
	"github.com/everthread/everthread/e2e/e2etest"
)

func TestKills_underLoadLoseAndRepeatNothing(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	if s, err := strconv.ParseUint(os.Getenv("EVERTHREAD_TEST_SEED"), 10, 64); err == nil {
		seed = s
	}
	t.Logf("EVERTHREAD_TEST_SEED=%d", seed)
	t.Run("sqlite, polling", func(t *testing.T) {
		t.Parallel()
		w := e2etest.NewTown(t, "")
		killUnderLoad(t, w, e2etest.Polled{Town: w}, []*e2etest.AtomicGateway{{}}, seed)
	})
	t.Run("two processes on postgres, webhook", func(t *testing.T) {
		t.Parallel()
		w := e2etest.NewTown(t, e2etest.NewStore(t))
		w.Env = append(w.Env, "EVERTHREAD_CHANNELS_TELEGRAM_MODE=webhook",
			"EVERTHREAD_CHANNELS_TELEGRAM_WEBHOOK_SECRET="+e2etest.WebhookKey,
			"EVERTHREAD_HTTP_PUBLIC_URL=https://everthread.example.org")
		running := []*e2etest.AtomicGateway{{}, {}}
		killUnderLoad(t, w, &e2etest.Pushed{T: t, Targets: running, Client: http.Client{Timeout: 10 * time.Second}}, running,
			seed)
	})
}

// killUnderLoad kills the processes in turn while people write.
func killUnderLoad(t *testing.T, w *e2etest.Town, s e2etest.Service, running []*e2etest.AtomicGateway, seed uint64) {
	w.UseModel(e2etest.StartModel(t, 3*time.Millisecond))
	w.Telegram.Fail("sendMessage", 10_000,
		telegramtest.Failure{Delay: 100 * time.Millisecond}) // so that kills fall into it
	w.Env = append(w.Env, "EVERTHREAD_TURN_LEASE=3s")
	for _, p := range running {
		p.Store(w.Start())
	}
	end := time.Now().Add(e2etest.KillFor)
	said := make([][]string, e2etest.KillChats)
	var people sync.WaitGroup
	for c := range said {
		people.Go(func() { said[c] = converse(s, int64(1000+c), rand.New(rand.NewPCG(seed, uint64(c))), end) })
	}
	rnd := rand.New(rand.NewPCG(seed, 99))
	kills := 0
	for ; time.Now().Before(end); kills++ {
		time.Sleep(time.Duration(300+rnd.IntN(1700)) * time.Millisecond) // at any moment
		victim := running[kills%len(running)]
		victim.Load().Kill()
		victim.Store(w.Start())
	}
	people.Wait()
	l := w.Ledger()
	l.Quiet(60*time.Second, running[0].Load().Log)
	var all e2etest.Repeats
	messages := 0
	for c := range said {
		messages += len(said[c])
		r := w.Check(l, int64(1000+c), said[c])
		all = e2etest.Repeats{Marked: all.Marked + r.Marked, Doubled: all.Doubled + r.Doubled,
			Missing: all.Missing + r.Missing}
	}
	t.Logf("%d kills, %d messages: %+v", kills, messages, all)
	if most := kills * e2etest.KillChats; all.Marked > most || all.Missing > most/2 {
		t.Errorf("%d kills explain at most %d repeats: got %+v", kills, most, all)
	}
}

// converse writes until end: mostly short texts, some with long answers, edits and /stop.
// It returns the texts in their final form.
func converse(s e2etest.Service, chat int64, rnd *rand.Rand, end time.Time) []string {
	var said []string
	for n := 0; n < e2etest.KillTexts && time.Now().Before(end); n++ {
		text := fmt.Sprintf("message %d of chat %d", n, chat)
		if rnd.IntN(6) == 0 {
			text = fmt.Sprintf("say %d words", 900+n)
		}
		id := s.Say(chat, text)
		said = append(said, text)
		switch rnd.IntN(8) {
		case 0:
			text += ", edited"
			s.Edit(chat, id, text)
			said[len(said)-1] = text
		case 1:
			s.Say(chat, "/stop")
		}
		time.Sleep(time.Duration(rnd.IntN(700)) * time.Millisecond) // as people write
	}
	return said
}
