//go:build e2e

package e2etest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// GroupFlood is a large group that writes without a pause, one message of fifty to the assistant, while a few people talk
// to it alone.
type GroupFlood struct {
	Members int
	Rate    int // messages a second
	For     time.Duration
}

// GroupFigures are the measurements of a GroupFlood.
type GroupFigures struct {
	Messages       int
	Received, Most time.Duration // from a post until it is stored: p95, and the longest
	Late           time.Duration // the median of the last third, which grows if it falls behind
	Alone, Beside  time.Duration // a private turn's p95: without the group, and beside it
}

// floodTalkers are the people who talk alone.
const floodTalkers = 4

// flooding is a GroupFlood on its way.
type flooding struct {
	GroupFlood
	*Gathering
	gateway *Gateway
	client  *http.Client
	updates atomic.Int64
}

// Measure floods a gateway to which the service posts.
func (f GroupFlood) Measure(t *testing.T, database string) (out GroupFigures) {
	t.Helper()
	w := NewGathering(t, database)
	w.UseModel(NewAttentive(t).URL)
	g := w.Start()
	w.AddOwner(g)
	w.Says(Member{Ada, "Ada"}, "/approve")
	w.Hears(g)
	g.Stop()
	x := &flooding{GroupFlood: f, Gathering: w, client: &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64}},
		gateway: w.Start("EVERTHREAD_CHANNELS_TELEGRAM_MODE=webhook", "EVERTHREAD_CHANNELS_TELEGRAM_WEBHOOK_SECRET="+WebhookKey,
			"EVERTHREAD_HTTP_PUBLIC_URL=https://everthread.example.org")}
	defer x.client.CloseIdleConnections()
	x.updates.Store(1_000_000)
	x.talk(t, time.Second) // opens connections and prepares statements
	out.Alone, _ = p95(x.talk(t, max(f.For/6, 3*time.Second)))
	var all sync.WaitGroup
	var received []time.Duration
	all.Go(func() { received = x.flood(t) })
	beside := x.talk(t, f.For)
	all.Wait()
	third := len(received) / 3
	early, late := slices.Sorted(slices.Values(received[:third])), slices.Sorted(slices.Values(received[2*third:]))
	out.Messages, out.Late = len(received), late[len(late)/2]
	out.Beside, _ = p95(beside)
	out.Received, out.Most = p95(received)
	if t.Failed() {
		t.Log(x.gateway.Log.Tail())
	}
	l := w.Ledger()
	l.Quiet(time.Minute, x.gateway.Log)
	const ofGroup = ` WHERE user_id = (SELECT id FROM users WHERE role = 'group')`
	if got := l.Count(`SELECT COUNT(*) FROM messages` + ofGroup + ` AND role = 'user' AND kind = 'chat'`); got != out.Messages {
		t.Errorf("%d of %d messages are stored", got, out.Messages)
	}
	if got := l.Count(`SELECT COUNT(*) FROM speakers` + ofGroup); got != min(f.Members, out.Messages)+1 {
		t.Errorf("%d speakers of %d members", got, f.Members)
	}
	t.Logf("%d messages of %d members, %d a second: stored after p95 %s, most %s (median of the first third %s, of the last %s); a private turn's p95 %s alone, %s beside (%d turns)",
		out.Messages, f.Members, f.Rate, out.Received.Round(100*time.Microsecond), out.Most.Round(100*time.Microsecond),
		early[third/2].Round(100*time.Microsecond), out.Late.Round(100*time.Microsecond),
		out.Alone.Round(100*time.Microsecond), out.Beside.Round(100*time.Microsecond), len(beside))
	return out
}

// post posts an update, and returns how long it took until it was accepted, which means stored.
func (x *flooding) post(t *testing.T, update map[string]any) time.Duration {
	update["update_id"] = x.updates.Add(1)
	body, err := json.Marshal(update)
	if err != nil {
		t.Error(err)
		return 0
	}
	began := time.Now()
	r, err := http.NewRequest(http.MethodPost, x.gateway.URL+"/webhooks/telegram", bytes.NewReader(body))
	if err != nil {
		t.Error(err)
		return 0
	}
	r.Header.Set("X-Telegram-Bot-Api-Secret-Token", WebhookKey)
	resp, err := x.client.Do(r)
	if err != nil {
		t.Error(err)
		return 0
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("a post is answered %s after %s", resp.Status, time.Since(began))
	}
	return time.Since(began)
}

// flood posts the messages of the members at the rate, whether or not earlier ones are stored.
func (x *flooding) flood(t *testing.T) []time.Duration {
	took := make([]time.Duration, int(x.For.Seconds()*float64(x.Rate)))
	var all sync.WaitGroup
	began := time.Now()
	for n := range took {
		time.Sleep(time.Until(began.Add(time.Duration(n) * time.Second / time.Duration(x.Rate)))) // the measured rate
		text := fmt.Sprintf("message m%05dx about the boat, the tents, and who brings what on Saturday", n)
		if n%50 == 49 {
			text = "@test_bot " + text
		}
		i := n % x.Members
		m := x.message(Member{int64(10_000 + i), fmt.Sprint("Member ", i)}, text)
		all.Go(func() { took[n] = x.post(t, map[string]any{"message": m}) })
	}
	all.Wait()
	return took
}

// talk has people talk alone, each a quarter of a second after the answer, and returns how long answers took.
func (x *flooding) talk(t *testing.T, during time.Duration) []time.Duration {
	took := make([][]time.Duration, floodTalkers)
	var all sync.WaitGroup
	end := time.Now().Add(during)
	for c := range took {
		chat := int64(5000 + c)
		all.Go(func() {
			for time.Now().Before(end) {
				id := x.updates.Add(1)
				mark := fmt.Sprintf("m%05dx", id%100_000)
				began := time.Now()
				x.post(t, map[string]any{"message": Written(chat, id, "hello "+mark)})
				before := max(0, len(x.Telegram.Sent(chat))-1)
				err := x.Telegram.Wait(t.Context(), func() bool {
					sent := x.Telegram.Sent(chat)
					return len(sent) > 0 && slices.ContainsFunc(Texts(sent[min(before, len(sent)):]), func(s string) bool { return strings.Contains(s, mark) })
				})
				if err != nil {
					t.Error(err)
					return
				}
				took[c] = append(took[c], time.Since(began))
				time.Sleep(250 * time.Millisecond) // people write slowly
			}
		})
	}
	all.Wait()
	return slices.Concat(took...)
}
