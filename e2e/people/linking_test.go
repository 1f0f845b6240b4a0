//go:build e2e

package people

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/everthread/everthread/adapters/whatsapp/whatsapptest"
	"github.com/everthread/everthread/e2e/e2etest"
)

// newLinked returns one person who is Ada on Telegram and Vera on WhatsApp, at noon of a
// day in October. Every sender is admitted.
func newLinked(t *testing.T, database string) *e2etest.Person {
	t.Helper()
	p := &e2etest.Person{Week: e2etest.NewClock(t, database), Heard: map[string]int{},
		Phone: whatsapptest.Person{Phone: "16505551234", UserID: "US.13491208655302741918", Name: "Vera"}}
	p.Wa = p.OnWhatsApp()
	p.Env = append(p.Env, "EVERTHREAD_SUMMARIES_POST_FORWARD=off", "EVERTHREAD_TURN_LEASE=3s",
		"EVERTHREAD_CHANNELS_WHATSAPP_API_URL="+p.Wa.URL()) // the URL of its files, too
	return p
}

func TestLink_mergesHistories(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		p := newLinked(t, database(t))
		g := p.Open()
		l := p.Ledger()
		said := p.TalkApart()
		p.Set(time.Date(2026, 10, 25, 13, 0, 0, 0, time.UTC))
		l.Until(`SELECT COUNT(*) FROM segments WHERE label = '2026-10-24' AND state = 'final'`, 2, g)
		p.KeepApart()
		said = append(said, `call loops_open {"text":"choose the paint for the hull"}`, "[photo: the dinghy]")
		l.Fetched(g)
		if got := p.Kept(); len(got) != 1 {
			t.Fatalf("kept are %v: %+v", got, l.Attachments())
		}
		if n := l.Count(e2etest.Users); n != 2 {
			t.Fatalf("they are %d users", n)
		}
		before := l.Count(`SELECT COUNT(*) FROM deliveries`)

		p.Merge(l, g)
		p.IsOne(l, g, said, before)
		p.RemindsOnce(l, g)
		p.Say("whatsapp", "and so we go on here")
		p.Show("the cat")
		said = append(said, "and so we go on here", "[photo: the cat]")
		l.Fetched(g)

		p.Unlinks(l, g, said)
		if t.Failed() {
			t.Log(g.Log.Tail())
		}
	})
}

// Turns that are running on either side when a merge begins are answered once.
func TestLink_runningTurnsAreAnsweredOnce(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		p := newLinked(t, database(t))
		p.UseModel(e2etest.StartModel(t, 3*time.Millisecond))
		g := p.Open()
		l := p.Ledger()
		p.Say("telegram", "one")
		p.Say("whatsapp", "two")
		code := e2etest.ShownCode.FindString(p.Say("telegram", "/link"))
		p.Write("say 1200 words")
		p.Wa.Say(p.Phone, "say 1300 words")
		l.Until(`SELECT COUNT(*) FROM turns WHERE state = 'running'`, 2, g)
		p.Wa.Say(p.Phone, "/link "+code)
		p.Both(l, g)
		l.Until(`SELECT COUNT(*) FROM merges WHERE phase = 'done'`, 1, g)
		p.Wa.Say(p.Phone, "three")
		l.Until(`SELECT COUNT(*) FROM messages WHERE role = 'user' AND kind = 'chat'`, 5, g)
		l.Quiet(60*time.Second, g.Log)
		got := l.Said("", fmt.Sprint(e2etest.Ada))
		slices.Sort(got)
		if want := []string{"one", "say 1200 words", "say 1300 words", "three", "two"}; !slices.Equal(got, want) {
			t.Errorf("said was %q, the transcript is %q", want, got)
		}
		l.OneReplyEach()
		p.ArrivedOnce(l, 0)
	})
}

func TestLink_bothWaysAtOnce(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		p := newLinked(t, database(t))
		g := p.Open()
		l := p.Ledger()
		p.Say("telegram", "one")
		p.Say("whatsapp", "two")
		mine, hers := e2etest.ShownCode.FindString(p.Say("telegram", "/link")),
			e2etest.ShownCode.FindString(p.Say("whatsapp", "/link"))
		p.Write("/link " + hers)
		p.Wa.Say(p.Phone, "/link "+mine)
		l.Until(`SELECT COUNT(*) FROM approvals WHERE kind = 'join' AND state = 'open'`, 2, g)
		yes := func(channel string) string { // with its code: the other user's yes may open a question meanwhile
			return "/yes " + l.Lines(`SELECT a.code FROM approvals a JOIN identities i ON i.user_id = a.user_id
				AND i.id = a.identity_id WHERE a.kind = 'join' AND a.state = 'open' AND i.channel = $1`, channel)[0]
		}
		here, there := yes("telegram"), yes("whatsapp")
		p.Write(here)
		p.Wa.Say(p.Phone, there)
		l.Until(`SELECT COUNT(*) FROM approvals WHERE kind = 'link' AND state = 'open'`, 2, g)
		p.Write("/yes")
		p.Wa.Say(p.Phone, "/yes")
		l.Until(e2etest.Users, 1, g)
		l.Until(`SELECT COUNT(*) FROM merges WHERE phase <> 'done'`, 0, g)
		l.Quiet(30*time.Second, g.Log)
		p.Telegram.Say(e2etest.Ada, "three")
		l.Until(`SELECT COUNT(*) FROM turns WHERE state = 'done'`, 3, g)
		if got := l.Said("", p.Phone.UserID); !slices.Equal(got, []string{"one", "two", "three"}) {
			t.Errorf("the transcript is %q", got)
		}
		l.OneReplyEach()
	})
}

// A stranger may link under every policy, with five attempts an hour.
func TestLink_codesGuessedFiveTimesUsedOnce(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"pairing", "allowlist"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
				p := newLinked(t, database(t))
				p.Env = append(p.Env, "EVERTHREAD_ACCESS_POLICY="+policy,
					fmt.Sprintf("EVERTHREAD_ACCESS_ALLOW=telegram:%d", e2etest.Ada))
				g := p.Open()
				l := p.Ledger()
				if policy == "pairing" {
					p.Say("telegram", "/start "+g.Logged(`/start ([A-Z0-9]{10})`)[1])
				}
				p.Say("telegram", "one")
				p.Guess()
				p.UseOnce(l, g)
				if n := l.Count(`SELECT COUNT(DISTINCT user_id) FROM messages WHERE role = 'user'`); n != 1 {
					t.Errorf("messages are %d users'", n)
				}
			})
		})
	}
}

// What WhatsApp takes and then reports as not delivered is told in the person's other app, once.
func TestWhatsApp_undeliveredIsToldElsewhere(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		p := newLinked(t, database(t))
		g := p.Open()
		l := p.Ledger()
		p.Say("telegram", "hello")
		p.Say("whatsapp", "hello")
		p.Merge(l, g)
		p.Wa.Fail("messages", 1, whatsapptest.Failure{Code: 131026, Later: true})
		p.Say("whatsapp", "lost")
		p.Contains(p.Hear("telegram"), "didn't arrive", "whatsapp", "echo: lost")
		p.Contains(p.Say("telegram", "and now?"), "echo: and now?")
		p.Contains(p.Say("whatsapp", "again"), "echo: again")
		if n := len(p.Telegram.Sent(e2etest.Ada)); n != p.Heard["telegram"] {
			t.Errorf("got %q", e2etest.Texts(p.Telegram.Sent(e2etest.Ada)))
		}
		if t.Failed() {
			t.Log(g.Log.Tail())
		}
	})
}
