//go:build e2e

package channels

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/everthread/everthread/adapters/telegram/telegramtest"
	"github.com/everthread/everthread/adapters/whatsapp/whatsapptest"
	"github.com/everthread/everthread/e2e/e2etest"
)

// everywhere is one person per channel with the received messages.
type everywhere struct {
	*e2etest.Town
	wa   *whatsapptest.Server
	home *e2etest.Homeserver
	bot  *e2etest.Account
	ada  *e2etest.Account
	room string
	bob  whatsapptest.Person
}

// mouth is a way to write messages and to read their answers.
type mouth struct {
	external string
	say      func(n int, text string)
	got      func() []string
}

func newEverywhere(t *testing.T, database string) *everywhere {
	h := e2etest.NewHomeserver(t, true)
	e := &everywhere{Town: e2etest.NewTown(t, database), home: h, bob: whatsapptest.Person{Phone: "16505551234",
		UserID: "US.13491208655302741918", Name: "Bob"}}
	e.wa = e.OnWhatsApp()
	e.bot = e.OnMatrix(h, "signal="+e2etest.BridgeBot)
	e.bot.Link()
	e.ada = h.Register("ada")
	e.UseModel(e2etest.StartModel(t, 3*time.Millisecond))
	e.Telegram.Fail("sendMessage", 10_000,
		telegramtest.Failure{Delay: 50 * time.Millisecond}) // so that kills fall into it
	e.Env = append(e.Env, "EVERTHREAD_TURN_LEASE=3s")
	return e
}

// launchAll starts a process that receives WhatsApp's webhooks from now on.
func (e *everywhere) launchAll() *e2etest.Gateway {
	g := e.Start()
	e.wa.Webhook(g.URL + "/webhooks/whatsapp")
	return g
}

// mouths returns the people: two on Telegram, one on every other channel.
func (e *everywhere) mouths() []mouth {
	out := []mouth{
		{e.bob.UserID, func(_ int, text string) { e.wa.Say(e.bob, text) }, func() (got []string) {
			for _, m := range e.wa.Sent() {
				got = append(got, m.Text)
			}
			return got
		}},
		{e.ada.ID, func(_ int, text string) { e.ada.Say(e.room, text) },
			func() []string { return e.ada.Heard(e.room, e.bot.ID, 0) }},
		{e2etest.Alice, func(n int, text string) {
			e.home.Act("say", map[string]any{"chat": e2etest.Alice, "name": "Alice", "id": fmt.Sprint("in-", n), "text": text})
		}, func() (got []string) {
			for _, s := range e.home.Signals(e2etest.Alice, "text", 0) {
				got = append(got, s.Text)
			}
			return got
		}},
	}
	for _, chat := range []int64{1001, 1002} {
		out = append(out, mouth{fmt.Sprint(chat), func(_ int, text string) { e.Telegram.Say(chat, text) },
			func() []string { return e2etest.Texts(e.Telegram.Sent(chat)) }})
	}
	return out
}

// arrive waits a little for sent messages, which services show later than they confirm.
func (e *everywhere) arrive(l *e2etest.Ledger, m mouth) {
	n := l.Count(`SELECT COUNT(*) FROM delivery_parts p JOIN deliveries d ON d.user_id = p.user_id AND d.id = p.delivery_id
		WHERE d.external = $1 AND p.state IN ('sent', 'delivered', 'read')`, m.external)
	for deadline := time.Now().Add(10 * time.Second); len(m.got()) < n && time.Now().Before(deadline); {
		time.Sleep(100 * time.Millisecond) // pending messages have no event
	}
}

func TestChannels_randomKillsLoseAndRepeatNothing(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	if s, err := strconv.ParseUint(os.Getenv("EVERTHREAD_TEST_SEED"), 10, 64); err == nil {
		seed = s
	}
	t.Logf("EVERTHREAD_TEST_SEED=%d", seed)
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		e := newEverywhere(t, database(t))
		g := e.launchAll()
		e.room = e.ada.Chat(e.bot.ID)
		end := time.Now().Add(e2etest.KillFor)
		mouths := e.mouths()
		said := make([][]string, len(mouths))
		var people sync.WaitGroup
		for i, m := range mouths {
			rnd := rand.New(rand.NewPCG(seed, uint64(i)))
			people.Go(func() {
				for n := 0; n < e2etest.KillTexts && time.Now().Before(end); n++ {
					text := fmt.Sprintf("message %d of %d", n, i)
					said[i] = append(said[i], text)
					m.say(n, text)
					time.Sleep(time.Duration(rnd.IntN(900)) * time.Millisecond) // as people write
				}
			})
		}
		rnd := rand.New(rand.NewPCG(seed, 99))
		kills := 0
		for ; time.Now().Before(end); kills++ {
			time.Sleep(time.Duration(700+rnd.IntN(2500)) * time.Millisecond) // at any moment
			g.Kill()
			g = e.launchAll()
		}
		people.Wait()
		l := e.Ledger()
		all := 0
		for i := range mouths {
			all += len(said[i])
		}
		l.Until(`SELECT COUNT(*) FROM messages WHERE role = 'user' AND kind = 'chat'`, all, g)
		l.Quiet(100*time.Second, g.Log) // messages without a status of WhatsApp are sent again after a minute
		for i, m := range mouths {
			e.arrive(l, m)
			r := e.CheckAt(l, m.external, said[i], m.got())
			t.Logf("%s: %d messages: %+v", m.external, len(said[i]), r)
			if idempotent := m.external == e.ada.ID || m.external == e2etest.Alice; idempotent &&
				r != (e2etest.Repeats{}) || r.Marked > kills {
				t.Errorf("%s: %d kills do not explain %+v", m.external, kills, r)
			}
		}
		t.Logf("%d kills", kills)
	})
}
