//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/everthread/everthread/adapters/telegram/telegramtest"
)

const (
	killFor    = 30 * time.Second // on each store, both at once
	killChats  = 4
	killTexts  = 80 // a chat writes at most
	webhookKey = "s3cret-s3cret-s3cret"
)

// service is how people reach the gateway in a test.
type service interface {
	say(chat int64, text string) (message int64)
	edit(chat, message int64, text string)
}

// polled has the gateway ask for updates.
type polled struct{ *town }

func (p polled) say(chat int64, text string) int64     { return p.telegram.Say(chat, text) }
func (p polled) edit(chat, message int64, text string) { p.telegram.Edit(chat, message, text) }

// atomicGateway is a process that is replaced while others talk to it.
type atomicGateway = atomic.Pointer[gateway]

// pushed posts updates to whichever process takes them, each until it is taken,
// and some once more to another.
type pushed struct {
	t       *testing.T
	targets []*atomicGateway
	last    atomic.Int64
	client  http.Client
}

func (p *pushed) say(chat int64, text string) int64 {
	id := p.last.Add(1)
	p.push(map[string]any{"update_id": id, "message": written(chat, id, text)})
	return id
}

func (p *pushed) edit(chat, message int64, text string) {
	m := written(chat, message, text)
	m["edit_date"] = time.Now().Unix()
	p.push(map[string]any{"update_id": p.last.Add(1), "edited_message": m})
}

func written(chat, id int64, text string) map[string]any {
	return map[string]any{"message_id": id, "date": time.Now().Unix(), "text": text, "chat": map[string]any{"id": chat, "type": "private"},
		"from": map[string]any{"id": chat, "is_bot": false, "first_name": "Ada", "language_code": "en"}}
}

func (p *pushed) push(update map[string]any) {
	body, err := json.Marshal(update)
	must(p.t, err)
	again := rand.IntN(5) == 0
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); {
		if !p.post(string(body)) {
			time.Sleep(20 * time.Millisecond) // as the service waits before it tries again
			continue
		}
		if !again {
			return
		}
		again = false
	}
	p.t.Errorf("nobody takes %s", body)
}

func (p *pushed) post(body string) bool {
	g := p.targets[rand.IntN(len(p.targets))].Load()
	r, err := http.NewRequest(http.MethodPost, g.URL+"/webhooks/telegram", strings.NewReader(body))
	if err != nil {
		return false
	}
	r.Header.Set("X-Telegram-Bot-Api-Secret-Token", webhookKey)
	resp, err := p.client.Do(r)
	if err != nil {
		return false
	}
	resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

func TestRandomKillsUnderLoadLoseAndRepeatNothing(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	if s, err := strconv.ParseUint(os.Getenv("EVERTHREAD_TEST_SEED"), 10, 64); err == nil {
		seed = s
	}
	t.Logf("EVERTHREAD_TEST_SEED=%d", seed)
	t.Run("sqlite, polling", func(t *testing.T) {
		t.Parallel()
		w := newTown(t, "")
		killUnderLoad(t, w, polled{w}, []*atomicGateway{{}}, seed)
	})
	t.Run("two processes on postgres, webhook", func(t *testing.T) {
		t.Parallel()
		w := newTown(t, newSchema(t))
		w.env = append(w.env, "EVERTHREAD_CHANNELS_TELEGRAM_MODE=webhook", "EVERTHREAD_CHANNELS_TELEGRAM_WEBHOOK_SECRET="+webhookKey,
			"EVERTHREAD_HTTP_PUBLIC_URL=https://everthread.example.org")
		running := []*atomicGateway{{}, {}}
		killUnderLoad(t, w, &pushed{t: t, targets: running, client: http.Client{Timeout: 10 * time.Second}}, running, seed)
	})
}

// killUnderLoad kills the processes in turn while people write.
func killUnderLoad(t *testing.T, w *town, s service, running []*atomicGateway, seed uint64) {
	w.useModel(startModel(t, 3*time.Millisecond))
	w.telegram.Fail("sendMessage", 10_000, telegramtest.Failure{Delay: 100 * time.Millisecond}) // so that kills fall into it
	w.env = append(w.env, "EVERTHREAD_TURN_LEASE=3s")
	for _, p := range running {
		p.Store(w.start())
	}
	end := time.Now().Add(killFor)
	said := make([][]string, killChats)
	var people sync.WaitGroup
	for c := range said {
		people.Go(func() { said[c] = converse(s, int64(1000+c), rand.New(rand.NewPCG(seed, uint64(c))), end) })
	}
	rnd := rand.New(rand.NewPCG(seed, 99))
	kills := 0
	for ; time.Now().Before(end); kills++ {
		time.Sleep(time.Duration(300+rnd.IntN(1700)) * time.Millisecond) // at any moment
		victim := running[kills%len(running)]
		victim.Load().kill()
		victim.Store(w.start())
	}
	people.Wait()
	l := w.ledger()
	l.quiet(60*time.Second, running[0].Load().log)
	var all repeats
	messages := 0
	for c := range said {
		messages += len(said[c])
		r := w.check(l, int64(1000+c), said[c])
		all = repeats{all.marked + r.marked, all.doubled + r.doubled, all.missing + r.missing}
	}
	t.Logf("%d kills, %d messages: %+v", kills, messages, all)
	if most := kills * killChats; all.marked > most || all.missing > most/2 {
		t.Errorf("%d kills explain no more than %d repeats: %+v", kills, most, all)
	}
}

// converse writes until end: mostly short texts, some that are answered at
// length, edits and /stop. It returns what was said, as it reads in the end.
func converse(s service, chat int64, rnd *rand.Rand, end time.Time) []string {
	var said []string
	for n := 0; n < killTexts && time.Now().Before(end); n++ {
		text := fmt.Sprintf("message %d of chat %d", n, chat)
		if rnd.IntN(6) == 0 {
			text = fmt.Sprintf("say %d words", 900+n)
		}
		id := s.say(chat, text)
		said = append(said, text)
		switch rnd.IntN(8) {
		case 0:
			text += ", edited"
			s.edit(chat, id, text)
			said[len(said)-1] = text
		case 1:
			s.say(chat, "/stop")
		}
		time.Sleep(time.Duration(rnd.IntN(700)) * time.Millisecond) // as people write
	}
	return said
}
