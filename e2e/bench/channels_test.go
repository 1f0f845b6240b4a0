//go:build e2e && bench

package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/everthread/everthread/adapters/whatsapp/whatsapptest"
	"github.com/everthread/everthread/e2e/e2etest"
)

// The costs of receiving: not tests but measurements, run alone by
// `go test -tags 'goolm e2e crashpoints bench' -run TestBench -v ./e2e/`.

const (
	benchRate = 200 // messages a second
	benchFor  = 10 * time.Second
)

// A webhook is acknowledged while the model is stalled, at 200 messages a second of 50 people.
func TestBenchAcknowledging(t *testing.T) {
	for _, engine := range []string{"sqlite", "postgres"} {
		for _, channel := range []string{"telegram", "whatsapp"} {
			t.Run(engine+"/"+channel, func(t *testing.T) {
				w, g := stalled(t, engine)
				post := w.Hooks(g)[channel]
				took := make([]time.Duration, int(benchFor.Seconds()*benchRate))
				var all sync.WaitGroup
				tick := time.NewTicker(time.Second / benchRate)
				defer tick.Stop()
				for n := range took {
					<-tick.C
					all.Go(func() {
						begin := time.Now()
						post(n)
						took[n] = time.Since(begin)
					})
				}
				all.Wait()
				slices.Sort(took)
				t.Logf("%d messages: p50 %s, p95 %s, p99 %s, most %s", len(took), took[len(took)/2], took[len(took)*95/100],
					took[len(took)*99/100], took[len(took)-1])
				if n := w.Ledger().Count(`SELECT COUNT(*) FROM messages WHERE role = 'user'`); n != len(took) {
					t.Errorf("%d of %d messages are stored", n, len(took))
				}
			})
		}
	}
}

// stalled returns a gateway whose model does not answer.
func stalled(t *testing.T, engine string) (*e2etest.Town, *e2etest.Gateway) {
	database := ""
	if engine == "postgres" {
		database = e2etest.NewStore(t)
	}
	w := e2etest.NewTown(t, database)
	w.UseModel(e2etest.StartModel(t, time.Hour))
	s := w.OnWhatsApp()
	_ = s
	w.Env = append(w.Env, "EVERTHREAD_CHANNELS_TELEGRAM_MODE=webhook",
		"EVERTHREAD_CHANNELS_TELEGRAM_WEBHOOK_SECRET="+e2etest.WebhookKey,
		"EVERTHREAD_HTTP_PUBLIC_URL=https://everthread.example.org", "EVERTHREAD_TURN_DEBOUNCE=700ms")
	return w, w.Start()
}

// TestBenchBatchOfWhatsApp measures one POST of WhatsApp with 1,000 messages of 100 people.
func TestBenchBatchOfWhatsApp(t *testing.T) {
	for _, engine := range []string{"sqlite", "postgres"} {
		t.Run(engine, func(t *testing.T) {
			w, g := stalled(t, engine)
			w.Hooks(g)["whatsapp"](100_000) // opens connections and prepares statements
			var changes []any
			for n := range 1000 {
				var one map[string]any
				e2etest.Must(t, json.Unmarshal(whatsapptest.Body(whatsapptest.Person{Phone: fmt.Sprint(16505550000 + n%100),
					UserID: fmt.Sprint("US.", 1000+n%100), Name: "Ada"},
					fmt.Sprint("wamid.", n), time.Now(), map[string]any{"type": "text",
						"text": map[string]any{"body": strings.Repeat("word ", 20)}}), &one))
				changes = append(changes, one["entry"].([]any)[0].(map[string]any)["changes"].([]any)...)
			}
			body, err := json.Marshal(map[string]any{"object": "whatsapp_business_account",
				"entry": []any{map[string]any{"id": whatsapptest.Account, "changes": changes}}})
			e2etest.Must(t, err)
			begin := time.Now()
			r, err := http.NewRequest(http.MethodPost, g.URL+"/webhooks/whatsapp", bytes.NewReader(body))
			e2etest.Must(t, err)
			r.Header.Set("X-Hub-Signature-256", whatsapptest.Sign(body))
			resp, err := http.DefaultClient.Do(r)
			e2etest.Must(t, err)
			resp.Body.Close()
			took := time.Since(begin)
			n := w.Ledger().Count(`SELECT COUNT(*) FROM messages WHERE role = 'user'`)
			t.Logf("1,000 messages of 100 people (%d kB): %s, %s, %d stored", len(body)/1024, resp.Status, took, n)
			if n != 1001 {
				t.Errorf("%d stored", n)
			}
		})
	}
}

// TestBenchMatrixAfterDowntime measures a Matrix account that returns after 10,000 messages in 100
// rooms.
func TestBenchMatrixAfterDowntime(t *testing.T) {
	const rooms, each = 100, 100
	for _, engine := range []string{"sqlite", "postgres"} {
		t.Run(engine, func(t *testing.T) {
			database := ""
			if engine == "postgres" {
				database = e2etest.NewStore(t)
			}
			h := e2etest.NewHomeserver(t, false)
			w := e2etest.NewTown(t, database)
			w.UseModel(e2etest.StartModel(t, 10*time.Millisecond))
			bot := w.OnMatrix(h)
			g := w.Start("EVERTHREAD_TURN_DEBOUNCE=700ms")
			people := make([]*e2etest.Account, rooms)
			chats := make([]string, rooms)
			var all sync.WaitGroup
			slots := make(chan struct{}, 4)
			for i := range people {
				slots <- struct{}{}
				people[i] = h.Register(fmt.Sprint("p", i))
				all.Go(func() {
					defer func() { <-slots }()
					chats[i] = people[i].Chat(bot.ID)
					people[i].Say(chats[i], "hello")
				})
			}
			all.Wait()
			l := w.Ledger()
			l.Until(`SELECT COUNT(*) FROM turns WHERE state = 'done'`, rooms, g)
			l.Quiet(60*time.Second, g.Log)
			g.Stop()
			begin := time.Now()
			for i := range people {
				slots <- struct{}{}
				all.Go(func() {
					defer func() { <-slots }()
					for n := range each {
						people[i].Say(chats[i], fmt.Sprint("message ", n))
					}
				})
			}
			all.Wait()
			t.Logf("%d messages written in %s", rooms*each, time.Since(begin))
			begin = time.Now()
			g = w.Start("EVERTHREAD_TURN_DEBOUNCE=700ms")
			for l.Count(`SELECT COUNT(*) FROM messages WHERE role = 'user'`) < rooms*(each+1) &&
				time.Since(begin) < 5*time.Minute {
				time.Sleep(50 * time.Millisecond) // a process has no event to wait for
			}
			stored := time.Since(begin)
			l.Quiet(5*time.Minute, g.Log)
			t.Logf("stored after %s, answered after %s: %d messages, %d turns, %d replies sent", stored, time.Since(begin),
				l.Count(`SELECT COUNT(*) FROM messages WHERE role = 'user'`), l.Count(`SELECT COUNT(*) FROM turns`),
				l.Count(`SELECT COUNT(*) FROM deliveries WHERE state IN ('sent', 'delivered', 'read')`))
		})
	}
}
