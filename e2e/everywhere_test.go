//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/adapters/telegram/telegramtest"
	"github.com/everthread/everthread/adapters/whatsapp/whatsapptest"
)

// onWhatsApp has a town's gateway serve a business number.
func (w *town) onWhatsApp() *whatsapptest.Server {
	w.t.Helper()
	s := whatsapptest.New()
	w.t.Cleanup(func() {
		s.Close()
		for _, err := range s.Errors() {
			w.t.Errorf("a request that the Cloud API does not know: %v", err)
		}
	})
	w.env = append(w.env, "EVERTHREAD_CHANNELS_WHATSAPP_API_URL="+throughPrism(w.t, s.URL()), "EVERTHREAD_CHANNELS_WHATSAPP_PHONE_NUMBER_ID="+whatsapptest.PhoneNumberID,
		"EVERTHREAD_CHANNELS_WHATSAPP_ACCESS_TOKEN="+whatsapptest.Token, "EVERTHREAD_CHANNELS_WHATSAPP_APP_SECRET="+whatsapptest.AppSecret,
		"EVERTHREAD_CHANNELS_WHATSAPP_VERIFY_TOKEN="+whatsapptest.VerifyToken, "EVERTHREAD_CHANNELS_WHATSAPP_RATE_PER_CHAT=0")
	return s
}

// person is one human with every app, and what they see.
type person struct {
	*week
	phone  whatsapptest.Person
	wa     *whatsapptest.Server
	home   *homeserver
	heard  map[string]int
	script []string // the conversation, with the channel of each message
}

// say writes on a channel and returns the next answer there.
func (p *person) say(channel, text string) string {
	p.t.Helper()
	p.script = append(p.script, fmt.Sprintf("%-8s > %s", channel, text))
	switch channel {
	case "telegram":
		p.next++
		p.telegram.Offer(map[string]any{"message": map[string]any{
			"message_id": p.next, "date": p.now().Unix(), "text": text, "chat": map[string]any{"id": ada, "type": "private"},
			"from": map[string]any{"id": ada, "is_bot": false, "first_name": "Ada", "language_code": "en"}}})
	case "whatsapp":
		p.wa.Say(p.phone, text)
	case "signal":
		p.home.act("say", map[string]any{"chat": alice, "name": "Ada", "id": fmt.Sprint("in-", len(p.script)), "text": text})
	}
	return p.hear(channel)
}

// hear waits for the next message on a channel.
func (p *person) hear(channel string) string {
	p.t.Helper()
	p.heard[channel]++
	n, got := p.heard[channel], ""
	switch channel {
	case "telegram":
		got = p.town.sent(ada, n)[n-1].Text
	case "whatsapp":
		for deadline := time.Now().Add(30 * time.Second); len(p.wa.Sent()) < n; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				p.t.Fatalf("WhatsApp has %d messages, want %d", len(p.wa.Sent()), n)
			}
		}
		got = p.wa.Sent()[n-1].Text
	case "signal":
		got = p.home.signals(alice, "text", n)[n-1].Text
	}
	p.script = append(p.script, fmt.Sprintf("%-8s < %s", channel, got))
	return got
}

// contains fails the test if an answer does not hold words.
func (p *person) contains(got string, words ...string) {
	p.t.Helper()
	for _, w := range words {
		if !strings.Contains(got, w) {
			p.t.Errorf("%q does not say %q", got, w)
		}
	}
}

// The job of all channels, whole: a person who is paired on Telegram links
// WhatsApp and Signal, goes on with the same conversation there, and gets the
// morning's summary where they are at home, or where they still can be reached.
func TestOnePersonOnEveryChannel(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		h := newHomeserver(t, true)
		p := newPerson(t, database(t), h)
		p.onMatrix(h, "signal="+bridgeBot).link()
		g := p.start()
		p.wa.Webhook(g.URL + "/webhooks/whatsapp")

		code := regexp.MustCompile(`[A-Z0-9]{8}`).FindString(p.say("telegram", "Good morning! My sailing boat is called Albatros."))
		p.mustRun("pair", "approve", code)
		p.hear("telegram")
		p.say("telegram", "/timezone Europe/Paris")
		p.say("telegram", "/home")

		link := func(channel string, told ...string) {
			code := regexp.MustCompile(`\b[A-Z2-9]{4}-?[A-Z2-9]{4}\b`).FindString(p.say("telegram", "/link"))
			p.contains(p.say(channel, "/link "+code), "I have asked")
			p.contains(p.hear("telegram"), "wants to be you", channel)
			p.contains(p.say("telegram", "yes"), "is you from now on")
			p.contains(p.hear(channel), "connected now")
			for _, other := range told {
				p.contains(p.hear(other), "was linked to your account")
			}
		}
		link("whatsapp")
		p.say("whatsapp", "We sail to Groix on Friday, the tide is at seven.")
		link("signal", "whatsapp")
		p.say("signal", "Remind the crew: everybody brings a warm jacket.")
		p.contains(p.say("signal", "What is my sailing boat called?"), "Albatros")
		p.contains(p.say("whatsapp", "Where do we sail to on Friday?"), "Groix")
		p.contains(p.say("telegram", "Who brings a warm jacket?"), "crew")
		l := p.ledger()
		if n := l.count(`SELECT COUNT(DISTINCT user_id) FROM identities WHERE channel IN ('telegram', 'whatsapp', 'signal')`); n != 1 {
			t.Errorf("the person is %d users", n)
		}

		day := p.now()
		p.set(time.Date(day.Year(), day.Month(), day.Day()+1, 8, 1, 0, 0, p.zone))
		p.contains(p.hear("telegram"), "Albatros")
		p.say("telegram", "Thank you. We leave the harbour at six.")
		p.say("telegram", "And we are back on Sunday evening.")
		p.telegram.Fail("sendMessage", 1000, telegramtest.Failure{Code: 403})
		p.set(time.Date(day.Year(), day.Month(), day.Day()+2, 8, 1, 0, 0, p.zone))
		p.contains(p.hear("signal"), "harbour")
		if t.Failed() {
			t.Log(g.log.tail())
		}
	})
}

func newPerson(t *testing.T, database string, h *homeserver) *person {
	t.Helper()
	zone, err := time.LoadLocation("Europe/Paris")
	must(t, err)
	w := &week{town: newTown(t, database), zone: zone}
	w.clock = filepath.Join(w.dir, "clock")
	w.set(time.Now())
	w.env = append(w.env, "EVERTHREAD_TEST_CLOCK="+w.clock, "EVERTHREAD_ACCESS_POLICY=pairing", "EVERTHREAD_LLM_PROVIDER=demo", "EVERTHREAD_LLM_MODEL=")
	p := &person{week: w, wa: w.onWhatsApp(), home: h, heard: map[string]int{},
		phone: whatsapptest.Person{Phone: "16505551234", UserID: "US.13491208655302741918", Name: "Ada"}}
	t.Cleanup(func() { p.keep(p.ledger()) })
	return p
}

// keep writes the transcript beside the other artefacts, with what became of
// each delivery.
func (p *person) keep(l *ledger) {
	p.t.Helper()
	text := strings.Join(p.script, "\n") + "\n\n" + strings.Join(l.lines(
		`SELECT channel || ' ' || kind || ' ' || state || ': ' || why FROM deliveries WHERE user_id > 0 ORDER BY user_id, id`), "\n") + "\n"
	must(p.t, os.MkdirAll("artefacts", 0o755))
	must(p.t, os.WriteFile(filepath.Join("artefacts", "every-channel-"+filepath.Base(p.t.Name())+".txt"), []byte(text), 0o644))
}
