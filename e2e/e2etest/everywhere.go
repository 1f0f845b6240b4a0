//go:build e2e

package e2etest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/everthread/everthread/adapters/whatsapp/whatsapptest"
)

// OnWhatsApp configures a town's gateway for a business number.
func (w *Town) OnWhatsApp() *whatsapptest.Server {
	w.T.Helper()
	s := whatsapptest.New()
	w.T.Cleanup(func() {
		s.Close()
		for _, err := range s.Errors() {
			w.T.Errorf("a request that the Cloud API does not know: %v", err)
		}
	})
	w.Env = append(w.Env, "EVERTHREAD_CHANNELS_WHATSAPP_API_URL="+throughPrism(w.T, s.URL()),
		"EVERTHREAD_CHANNELS_WHATSAPP_PHONE_NUMBER_ID="+whatsapptest.PhoneNumberID,
		"EVERTHREAD_CHANNELS_WHATSAPP_ACCESS_TOKEN="+whatsapptest.Token, "EVERTHREAD_CHANNELS_WHATSAPP_APP_SECRET="+
			whatsapptest.AppSecret,
		"EVERTHREAD_CHANNELS_WHATSAPP_VERIFY_TOKEN="+whatsapptest.VerifyToken, "EVERTHREAD_CHANNELS_WHATSAPP_RATE_PER_CHAT=0")
	return s
}

// Person is one person with every app.
type Person struct {
	*Week
	Phone  whatsapptest.Person
	Wa     *whatsapptest.Server
	Home   *Homeserver
	Heard  map[string]int
	Script []string // the conversation, with the channel of each message
}

// Say writes on a channel and returns the next answer there.
func (p *Person) Say(channel, text string) string {
	p.T.Helper()
	p.Script = append(p.Script, fmt.Sprintf("%-8s > %s", channel, text))
	switch channel {
	case "telegram":
		p.Next++
		p.Telegram.Offer(map[string]any{"message": map[string]any{
			"message_id": p.Next, "date": p.Now().Unix(), "text": text, "chat": map[string]any{"id": Ada, "type": "private"},
			"from": map[string]any{"id": Ada, "is_bot": false, "first_name": "Ada", "language_code": "en"}}})
	case "whatsapp":
		p.Wa.Say(p.Phone, text)
	case "signal":
		p.Home.Act("say", map[string]any{"chat": Alice, "name": "Ada", "id": fmt.Sprint("in-", len(p.Script)), "text": text})
	}
	return p.Hear(channel)
}

// Hear waits for the next message on a channel.
func (p *Person) Hear(channel string) string {
	p.T.Helper()
	p.Heard[channel]++
	n, got := p.Heard[channel], ""
	switch channel {
	case "telegram":
		got = p.Town.Sent(Ada, n)[n-1].Text
	case "whatsapp":
		for deadline := time.Now().Add(30 * time.Second); len(p.Wa.Sent()) < n; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				p.T.Fatalf("WhatsApp has %d messages, want %d", len(p.Wa.Sent()), n)
			}
		}
		got = p.Wa.Sent()[n-1].Text
	case "signal":
		got = p.Home.Signals(Alice, "text", n)[n-1].Text
	}
	p.Script = append(p.Script, fmt.Sprintf("%-8s < %s", channel, got))
	return got
}

// Contains fails the test if an answer does not contain words.
func (p *Person) Contains(got string, words ...string) {
	p.T.Helper()
	for _, w := range words {
		if !strings.Contains(got, w) {
			p.T.Errorf("%q does not say %q", got, w)
		}
	}
}

// Keep writes the transcript beside the other artefacts, with the state of each delivery.
func (p *Person) Keep(l *Ledger) {
	p.T.Helper()
	text := strings.Join(p.Script, "\n") + "\n\n" + strings.Join(l.Lines(
		`SELECT channel || ' ' || kind || ' ' || state || ': ' || why FROM deliveries WHERE user_id > 0 ORDER BY user_id, id`), "\n") + "\n"
	Must(p.T, os.MkdirAll("artefacts", 0o755))
	Must(p.T, os.WriteFile(filepath.Join("artefacts", "every-channel-"+filepath.Base(p.T.Name())+".txt"),
		[]byte(text), 0o644))
}
