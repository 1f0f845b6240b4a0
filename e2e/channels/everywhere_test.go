//go:build e2e

package channels

import (
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/everthread/everthread/adapters/telegram/telegramtest"
	"github.com/everthread/everthread/adapters/whatsapp/whatsapptest"
	"github.com/everthread/everthread/e2e/e2etest"
)

// All channels together: a person who is paired on Telegram links WhatsApp and Signal,
// continues the same conversation there, and gets the morning's summary at their home, or
// where they can still be reached.
func TestChannels_onePersonOnAll(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		h := e2etest.NewHomeserver(t, true)
		p := newPerson(t, database(t), h)
		p.OnMatrix(h, "signal="+e2etest.BridgeBot).Link()
		g := p.Start()
		p.Wa.Webhook(g.URL + "/webhooks/whatsapp")

		code := regexp.MustCompile(`[A-Z0-9]{8}`).FindString(p.Say("telegram",
			"Good morning! My sailing boat is called Albatros."))
		p.MustRun("pair", "approve", code)
		p.Hear("telegram")
		p.Say("telegram", "/timezone Europe/Paris")
		p.Say("telegram", "/home")

		link := func(channel string, told ...string) {
			code := regexp.MustCompile(`\b[A-Z2-9]{4}-?[A-Z2-9]{4}\b`).FindString(p.Say("telegram", "/link"))
			p.Contains(p.Say(channel, "/link "+code), "I've asked")
			p.Contains(p.Hear("telegram"), "wants to connect as you", channel)
			p.Contains(p.Say("telegram", "yes"), "is now connected as you")
			p.Contains(p.Hear(channel), "connected now")
			for _, other := range told {
				p.Contains(p.Hear(other), "was linked to your account")
			}
		}
		link("whatsapp")
		p.Say("whatsapp", "We sail to Groix on Friday, the tide is at seven.")
		link("signal", "whatsapp")
		p.Say("signal", "Remind the crew: everybody brings a warm jacket.")
		p.Contains(p.Say("signal", "What is my sailing boat called?"), "Albatros")
		p.Contains(p.Say("whatsapp", "Where do we sail to on Friday?"), "Groix")
		p.Contains(p.Say("telegram", "Who brings a warm jacket?"), "crew")
		l := p.Ledger()
		if n := l.Count(
			`SELECT COUNT(DISTINCT user_id) FROM identities WHERE channel IN ('telegram', 'whatsapp', 'signal')`); n != 1 {
			t.Errorf("the person is %d users", n)
		}

		day := p.Now()
		p.Set(time.Date(day.Year(), day.Month(), day.Day()+1, 8, 1, 0, 0, p.Zone))
		p.Contains(p.Hear("telegram"), "Albatros")
		p.Say("telegram", "Thank you. We leave the harbour at six.")
		p.Say("telegram", "And we are back on Sunday evening.")
		p.Telegram.Fail("sendMessage", 1000, telegramtest.Failure{Code: 403})
		p.Set(time.Date(day.Year(), day.Month(), day.Day()+2, 8, 1, 0, 0, p.Zone))
		p.Contains(p.Hear("signal"), "harbour")
		if t.Failed() {
			t.Log(g.Log.Tail())
		}
	})
}

func newPerson(t *testing.T, database string, h *e2etest.Homeserver) *e2etest.Person {
	t.Helper()
	zone, err := time.LoadLocation("Europe/Paris")
	e2etest.Must(t, err)
	w := &e2etest.Week{Town: e2etest.NewTown(t, database), Zone: zone}
	w.Clock = filepath.Join(w.Dir, "clock")
	now := time.Now().In(zone)
	w.Set(time.Date(now.Year(), now.Month(), now.Day(), 12, 0, 0, 0, zone)) // no day ends during the conversation
	w.Env = append(w.Env, "EVERTHREAD_TEST_CLOCK="+w.Clock, "EVERTHREAD_ACCESS_POLICY=pairing",
		"EVERTHREAD_LLM_PROVIDER=demo", "EVERTHREAD_LLM_MODEL=")
	p := &e2etest.Person{Week: w, Wa: w.OnWhatsApp(), Home: h, Heard: map[string]int{},
		Phone: whatsapptest.Person{Phone: "16505551234", UserID: "US.13491208655302741918", Name: "Ada"}}
	t.Cleanup(func() { p.Keep(p.Ledger()) })
	return p
}
