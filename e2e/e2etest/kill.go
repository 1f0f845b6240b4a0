//go:build e2e

package e2etest

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

const (
	KillFor    = 30 * time.Second // on each store, both at once
	KillChats  = 4
	KillTexts  = 80 // texts of a chat at most
	WebhookKey = "s3cret-s3cret-s3cret"
)

// Service is the way in which people reach the gateway in a test.
type Service interface {
	Say(chat int64, text string) (message int64)
	Edit(chat, message int64, text string)
}

// Polled has the gateway poll for updates.
type Polled struct{ *Town }

func (p Polled) Say(chat int64, text string) int64     { return p.Telegram.Say(chat, text) }
func (p Polled) Edit(chat, message int64, text string) { p.Telegram.Edit(chat, message, text) }

// AtomicGateway is a process that is replaced while others use it.
type AtomicGateway = atomic.Pointer[Gateway]

// Pushed posts updates to any process, each until it is accepted, and repeats some to
// another process.
type Pushed struct {
	T       *testing.T
	Targets []*AtomicGateway
	last    atomic.Int64
	Client  http.Client
}

func (p *Pushed) Say(chat int64, text string) int64 {
	id := p.last.Add(1)
	p.push(map[string]any{"update_id": id, "message": Written(chat, id, text)})
	return id
}

func (p *Pushed) Edit(chat, message int64, text string) {
	m := Written(chat, message, text)
	m["edit_date"] = time.Now().Unix()
	p.push(map[string]any{"update_id": p.last.Add(1), "edited_message": m})
}

// Offer posts an update.
func (p *Pushed) Offer(update map[string]any) {
	update["update_id"] = p.last.Add(1)
	p.push(update)
}

func Written(chat, id int64, text string) map[string]any {
	return map[string]any{"message_id": id, "date": time.Now().Unix(), "text": text,
		"chat": map[string]any{"id": chat, "type": "private"}, "from": map[string]any{"id": chat, "is_bot": false,
			"first_name": "Ada", "language_code": "en"}}
}

func (p *Pushed) push(update map[string]any) {
	body, err := json.Marshal(update)
	Must(p.T, err)
	again := rand.IntN(5) == 0
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); {
		if !p.Post(string(body)) {
			time.Sleep(20 * time.Millisecond) // the service's pause before a retry
			continue
		}
		if !again {
			return
		}
		again = false
	}
	p.T.Errorf("nobody takes %s", body)
}

func (p *Pushed) Post(body string) bool {
	g := p.Targets[rand.IntN(len(p.Targets))].Load()
	r, err := http.NewRequest(http.MethodPost, g.URL+"/webhooks/telegram", strings.NewReader(body))
	if err != nil {
		return false
	}
	r.Header.Set("X-Telegram-Bot-Api-Secret-Token", WebhookKey)
	resp, err := p.Client.Do(r)
	if err != nil {
		return false
	}
	resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}
