//go:build e2e

package e2e

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
)

const (
	linkTexts = 20   // that each writes during a move
	linkEvery = 1400 // milliseconds between them, at most
)

// Both go on writing while their conversations are joined, and again while they
// are parted, and processes die all the time.
func TestRandomKillsWhileConversationsAreJoinedAndPartedLoseAndRepeatNothing(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	if s, err := strconv.ParseUint(os.Getenv("EVERTHREAD_TEST_SEED"), 10, 64); err == nil {
		seed = s
	}
	t.Logf("EVERTHREAD_TEST_SEED=%d", seed)
	t.Run("sqlite, polling", func(t *testing.T) {
		t.Parallel()
		p := newLinked(t, "")
		killLinking(t, p, polled{p.town}, []*atomicGateway{{}}, seed)
	})
	t.Run("two processes on postgres, webhook", func(t *testing.T) {
		t.Parallel()
		p := newLinked(t, newSchema(t))
		p.env = append(p.env, "EVERTHREAD_CHANNELS_TELEGRAM_MODE=webhook", "EVERTHREAD_CHANNELS_TELEGRAM_WEBHOOK_SECRET="+webhookKey,
			"EVERTHREAD_HTTP_PUBLIC_URL=https://everthread.example.org")
		running := []*atomicGateway{{}, {}}
		killLinking(t, p, &pushed{t: t, targets: running, client: http.Client{Timeout: 10 * time.Second}}, running, seed)
	})
}

// killing kills the processes of a person in turn.
type killing struct {
	*person
	running []*atomicGateway
	rnd     *rand.Rand
	kills   int
	own     int // processes that died in a move
}

// start starts all processes.
func (k *killing) start() {
	for _, r := range k.running {
		r.Store(k.town.start())
	}
	k.hook()
}

// restart replaces a process by one that dies of its own some steps into a move,
// perhaps before it is ready.
func (k *killing) restart(r *atomicGateway) {
	if r.Load().wait(0) {
		k.own++
	}
	r.Load().kill()
	g := k.launch(fmt.Sprint("EVERTHREAD_CRASH_AT=moved:", 3+k.rnd.IntN(12)))
	for !g.wait(20 * time.Millisecond) {
		if status, _ := g.get("/readyz"); status == http.StatusOK {
			break
		}
	}
	r.Store(g)
	k.hook()
	k.kills++
}

// hook has WhatsApp's webhooks go to one of the processes.
func (k *killing) hook() {
	k.wa.Webhook(k.running[k.rnd.IntN(len(k.running))].Load().URL + "/webhooks/whatsapp")
}

// until kills one process after the other until done is closed.
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

// whileBothWrite has both write texts, with a command at the phone after some and
// what follows it, and kills until they are done.
func (k *killing) whileBothWrite(s service, round int, command string, said *[2][]string, then func()) {
	done := make(chan struct{})
	var people sync.WaitGroup
	speak := func(who int, say func(text string)) {
		rnd := rand.New(rand.NewPCG(k.rnd.Uint64(), uint64(who)))
		people.Go(func() {
			for n := range linkTexts {
				text := fmt.Sprintf("message %d of %d in round %d", n, who, round)
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
	speak(0, func(text string) { s.say(ada, text) })
	speak(1, func(text string) { k.wa.Say(k.phone, text) })
	go func() { people.Wait(); close(done) }()
	k.until(done)
	for _, r := range k.running {
		r.Load().kill()
	}
	k.start()
}

func killLinking(t *testing.T, p *person, s service, running []*atomicGateway, seed uint64) {
	p.useModel(startModel(t, 3*time.Millisecond))
	p.set(time.Now())
	p.telegram.Fail("sendMessage", 10_000, telegramtest.Failure{Delay: 50 * time.Millisecond}) // so that kills fall into it
	k := &killing{person: p, running: running, rnd: rand.New(rand.NewPCG(seed, 7))}
	k.start()
	l := p.ledger()
	said := [2][]string{{"hello from home"}, {"hello from the phone"}}
	s.say(ada, said[0][0])
	p.wa.Say(p.phone, said[1][0])
	l.until(`SELECT COUNT(*) FROM turns WHERE state = 'done'`, 2, running[0].Load())
	s.say(ada, "/link")
	code := shownCode.FindString(p.town.sent(ada, 2)[1].Text)

	p.wa.Say(p.phone, "/link "+code)
	l.until(`SELECT COUNT(*) FROM approvals WHERE kind = 'join' AND state = 'open'`, 1, running[0].Load())
	s.say(ada, "/home") // so that the question below is not the last thing said
	k.whileBothWrite(s, 1, "/yes", &said, func() {
		l.until(`SELECT COUNT(*) FROM approvals WHERE kind = 'link' AND state = 'open'`, 1, running[0].Load())
		s.say(ada, "/yes")
	})
	k.settled(l, said, 1)
	k.whileBothWrite(s, 2, "/unlink --split", &said, func() {})
	k.settled(l, said, 2)
	for who, external := range []string{fmt.Sprint(ada), p.phone.UserID} {
		if got := l.said("", external); !slices.Equal(got, said[who]) {
			t.Errorf("%s said\n%q\nthe transcript is\n%q", external, said[who], got)
		}
	}
	t.Logf("%d kills, %d of them within a move", k.kills, k.own)
	if t.Failed() {
		t.Log(running[0].Load().log.tail())
	}
}

// settled waits until moves are done and all is answered, and holds the store and
// the services against what was said.
func (k *killing) settled(l *ledger, said [2][]string, people int) {
	k.t.Helper()
	g := k.running[0].Load()
	l.until(`SELECT COUNT(*) FROM messages WHERE role = 'user' AND kind = 'chat'`, len(said[0])+len(said[1]), g)
	l.until(`SELECT COUNT(*) FROM moves WHERE phase <> 'done'`, 0, g)
	l.quiet(100*time.Second, g.log) // what WhatsApp says nothing of is sent again after a minute
	l.until(users, people, g)
	if got := l.said("telegram", fmt.Sprint(ada)); !slices.Equal(got, said[0]) {
		k.t.Errorf("Telegram said\n%q\nthe transcript is\n%q", said[0], got)
	}
	if got := l.said("whatsapp", k.phone.UserID); !slices.Equal(got, said[1]) {
		k.t.Errorf("WhatsApp said\n%q\nthe transcript is\n%q", said[1], got)
	}
	l.oneReplyEach()
	k.arrivedOnce(l, k.kills)
}
