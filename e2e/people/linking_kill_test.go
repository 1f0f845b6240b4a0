//go:build e2e

package people

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/everthread/everthread/adapters/telegram/telegramtest"
	"github.com/everthread/everthread/e2e/e2etest"
)

const (
	linkTexts = 20   // that each user writes during a merge
	linkEvery = 1400 // milliseconds between them, at most
)

// Both users continue to write while their conversations are merged, and processes are killed all the time.
func TestLink_randomKillsLoseAndRepeatNothing(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	if s, err := strconv.ParseUint(os.Getenv("EVERTHREAD_TEST_SEED"), 10, 64); err == nil {
		seed = s
	}
	t.Logf("EVERTHREAD_TEST_SEED=%d", seed)
	t.Run("sqlite, polling", func(t *testing.T) {
		t.Parallel()
		p := newLinked(t, "")
		killLinking(t, p, e2etest.Polled{Town: p.Town}, []*e2etest.AtomicGateway{{}}, seed)
	})
	t.Run("two processes on postgres, webhook", func(t *testing.T) {
		t.Parallel()
		p := newLinked(t, e2etest.NewStore(t))
		p.Env = append(p.Env, "EVERTHREAD_CHANNELS_TELEGRAM_MODE=webhook",
			"EVERTHREAD_CHANNELS_TELEGRAM_WEBHOOK_SECRET="+e2etest.WebhookKey,
			"EVERTHREAD_HTTP_PUBLIC_URL=https://everthread.example.org")
		running := []*e2etest.AtomicGateway{{}, {}}
		killLinking(t, p, &e2etest.Pushed{T: t, Targets: running, Client: http.Client{Timeout: 10 * time.Second}}, running,
			seed)
	})
}

// killing kills a person's processes one after the other.
type killing struct {
	*e2etest.Person
	running []*e2etest.AtomicGateway
	rnd     *rand.Rand
	kills   int
	own     int // processes that died by themselves after a merge
}

// start starts all processes.
func (k *killing) start() {
	for _, r := range k.running {
		r.Store(k.Town.Start())
	}
	k.hook()
}

// restart replaces a process by one that dies by itself right after a merge, perhaps before it is ready.
func (k *killing) restart(r *e2etest.AtomicGateway) {
	if r.Load().Wait(0) {
		k.own++
	}
	r.Load().Kill()
	g := k.Launch("EVERTHREAD_CRASH_AT=merged:1")
	for !g.Wait(20 * time.Millisecond) {
		if status, _ := g.Get("/readyz"); status == http.StatusOK {
			break
		}
	}
	r.Store(g)
	k.hook()
	k.kills++
}

// hook directs WhatsApp's webhooks to one of the processes.
func (k *killing) hook() {
	k.Wa.Webhook(k.running[k.rnd.IntN(len(k.running))].Load().URL + "/webhooks/whatsapp")
}

// until kills one process after another until done is closed.
func (k *killing) until(done <-chan struct{}) {
	for {
		select {
		case <-done:
			return
		case <-time.After(time.Duration(500+k.rnd.IntN(1500)) * time.Millisecond):
		}
		k.restart(k.running[k.kills%len(k.running)])
	}
}

// whileBothWrite lets both users write texts, with a command on the phone after some of them and
// its continuation, and kills processes until they are done.
func (k *killing) whileBothWrite(s e2etest.Service, command string, said *[2][]string, then func()) {
	done := make(chan struct{})
	var people sync.WaitGroup
	speak := func(who int, say func(text string)) {
		rnd := rand.New(rand.NewPCG(k.rnd.Uint64(), uint64(who)))
		people.Go(func() {
			for n := range linkTexts {
				text := fmt.Sprintf("message %d of %d", n, who)
				said[who] = append(said[who], text)
				say(text)
				if who == 1 && n == linkTexts/4 {
					say(command)
					people.Go(then)
				}
				time.Sleep(time.Duration(rnd.IntN(linkEvery)) * time.Millisecond) // as people write
			}
		})
	}
	speak(0, func(text string) { s.Say(e2etest.Ada, text) })
	speak(1, func(text string) { k.Wa.Say(k.Phone, text) })
	go func() { people.Wait(); close(done) }()
	k.until(done)
	for _, r := range k.running {
		r.Load().Kill()
	}
	k.start()
}

func killLinking(t *testing.T, p *e2etest.Person, s e2etest.Service, running []*e2etest.AtomicGateway, seed uint64) {
	p.UseModel(e2etest.StartModel(t, 3*time.Millisecond))
	p.Set(time.Now())
	p.Telegram.Fail("sendMessage", 10_000,
		telegramtest.Failure{Delay: 50 * time.Millisecond}) // so that kills fall into it
	k := &killing{Person: p, running: running, rnd: rand.New(rand.NewPCG(seed, 7))}
	k.start()
	l := p.Ledger()
	said := [2][]string{{"hello from home"}, {"hello from the phone"}}
	s.Say(e2etest.Ada, said[0][0])
	p.Wa.Say(p.Phone, said[1][0])
	l.Until(`SELECT COUNT(*) FROM turns WHERE state = 'done'`, 2, running[0].Load())
	s.Say(e2etest.Ada, "/link")
	code := e2etest.ShownCode.FindString(p.Town.Sent(e2etest.Ada, 2)[1].Text)

	p.Wa.Say(p.Phone, "/link "+code)
	l.Until(`SELECT COUNT(*) FROM approvals WHERE kind = 'join' AND state = 'open'`, 1, running[0].Load())
	s.Say(e2etest.Ada, "/home") // so that the question below is not the last thing said
	yes := func(kind string) string {
		return "/yes " + l.Lines(`SELECT code FROM approvals WHERE kind = '` + kind + `' AND state = 'open'`)[0]
	}
	k.whileBothWrite(s, yes("join"), &said, func() {
		l.Until(`SELECT COUNT(*) FROM approvals WHERE kind = 'link' AND state = 'open'`, 1, running[0].Load())
		s.Say(e2etest.Ada, yes("link"))
	})
	k.settled(l, said)
	t.Logf("%d kills, %d of them after a merge", k.kills, k.own)
	if t.Failed() {
		t.Log(running[0].Load().Log.Tail())
	}
}

// settled waits until the merge is done and everything is answered, and compares the store and the
// services with what was sent.
func (k *killing) settled(l *e2etest.Ledger, said [2][]string) {
	k.T.Helper()
	g := k.running[0].Load()
	l.Until(`SELECT COUNT(*) FROM messages WHERE role = 'user' AND kind = 'chat'`, len(said[0])+len(said[1]), g)
	l.Until(`SELECT COUNT(*) FROM merges WHERE phase <> 'done'`, 0, g)
	l.Quiet(100*time.Second, g.Log) // a message without a status from WhatsApp is sent again after a minute
	l.Until(e2etest.Users, 1, g)
	if got := l.Said("telegram", fmt.Sprint(e2etest.Ada)); !slices.Equal(got, said[0]) {
		k.T.Errorf("Telegram said\n%q\nthe transcript is\n%q", said[0], got)
	}
	if got := l.Said("whatsapp", k.Phone.UserID); !slices.Equal(got, said[1]) {
		k.T.Errorf("WhatsApp said\n%q\nthe transcript is\n%q", said[1], got)
	}
	l.OneReplyEach()
	k.ArrivedOnce(l, k.kills)
}
