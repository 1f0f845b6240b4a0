//go:build e2e

package people

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/e2e/e2etest"
)

func TestAttack_stolenBrowserIsNotTheAccount(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		x := newTrusting(t, database(t), nil)
		l := x.Ledger()
		code := regexp.MustCompile(`code=([A-Za-z0-9-]+)`)
		v := x.g.NewGuest(code.FindStringSubmatch(x.Ask("/web").Text)[1])
		keys := func() int { return l.Count(`SELECT COUNT(*) FROM api_keys`) }
		form := url.Values{"name": {"robot"}, "scope": {"admin"}}

		_, body := v.Post("/settings/keys", form)
		q := x.Receive()
		for _, want := range []string{"Is this you?", "key with admin rights", "robot", "reply yes"} {
			if !strings.Contains(q.Text, want) {
				t.Errorf("the question does not say %q: %s", want, q.Text)
			}
		}
		if !strings.Contains(body, "Confirm first") || strings.Contains(body, "et_") || keys() != 0 {
			t.Fatalf("a key was created without a yes: %.300s", body)
		}
		asked, _ := e2etest.OpenAccount(l)
		v.Post("/messages", url.Values{"text": {"/yes " + asked}, "nonce": {"0123456789abcdef"}}) // from the browser itself
		x.Telegram.Say(4711, "/yes "+asked)                                                       // by another person
		_, err := x.Telegram.WaitSent(t.Context(), 4711, 1)
		e2etest.Must(t, err)
		if v.Post("/settings/keys", form); keys() != 0 {
			t.Fatal("a yes from the browser, or from another user, counted")
		}
		if got := x.press(q, "no"); !strings.Contains(got, "nothing happens") {
			t.Errorf("after a no: %q", got)
		}
		v.Post("/settings/keys", form)
		x.Receive()
		x.Agree(l, x.g)
		x.Receive()                                                // the note that it continues in the browser
		other := url.Values{"name": {"other"}, "scope": {"admin"}} // the approval was for another request
		if v.Post("/settings/keys", other); keys() != 0 {
			t.Fatal("a yes counted for something else")
		}
		x.Receive()
		if _, body = v.Post("/settings/keys", form); !strings.Contains(body, "et_") || keys() != 1 {
			t.Fatalf("after the yes: %.300s", body)
		}
		if told := x.Receive().Text; !strings.Contains(told, "A key with admin rights was created") ||
			!strings.Contains(told, "/undo") {
			t.Errorf("got messages %q", told)
		}
		if v.Post("/settings/keys", form); keys() != 1 {
			t.Error("one yes made two keys")
		}
		x.Receive()
		x.Agree(l, x.g)
		x.Receive() // the note that it continues in the browser
		x.Set(x.Now().Add(11 * time.Minute))
		if v.Post("/settings/keys", form); keys() != 1 {
			t.Error("a yes counted after its time")
		}
		x.Receive()
		list := x.Ask("/undo").Text
		n := regexp.MustCompile("/undo (\\d+)`? · [-0-9: ]+ · Key").FindStringSubmatch(list)
		if n == nil {
			n = regexp.MustCompile(`/undo (\d+)[^\n]*API key created`).FindStringSubmatch(list)
		}
		if n == nil {
			t.Fatalf("/undo lists %q", list)
		}
		if got := x.Ask("/undo " + n[1]).Text; !strings.Contains(got, "Undone: API key created") || keys() != 0 {
			t.Errorf("got %q, %d keys", got, keys())
		}
		if got := x.Ask("/undo " + n[1]).Text; !strings.Contains(got, "nothing to undo with the number "+n[1]) {
			t.Errorf("undone twice: %q", got)
		}

		bob := l.Lines(`SELECT user_id FROM identities WHERE external = '4711'`)[0]
		if _, body = v.Post("/admin/users/"+bob+"/link", nil); strings.Contains(body, "signin?code") {
			t.Fatalf("another user's link without a yes: %.300s", body)
		}
		x.Receive()
		x.Agree(l, x.g)
		x.Receive() // the note that it continues in the browser
		_, body = v.Post("/admin/users/"+bob+"/link", nil)
		link := code.FindStringSubmatch(body)
		if link == nil {
			t.Fatalf("after the yes: %.500s", body)
		}
		told, err := x.Telegram.WaitSent(t.Context(), 4711, 2)
		e2etest.Must(t, err)
		if !strings.Contains(told[1].Text, "created a link that signs in as") {
			t.Errorf("Bob got %q", told[1].Text)
		}
		as := x.g.NewGuest(link[1])
		x.Telegram.Say(4711, "/undo")
		told, err = x.Telegram.WaitSent(t.Context(), 4711, 3)
		e2etest.Must(t, err)
		n = regexp.MustCompile(`/undo (\d+)[^\n]*Browser signed in`).FindStringSubmatch(told[2].Text)
		if n == nil {
			t.Fatalf("Bob's /undo lists %q", told[2].Text)
		}
		x.Telegram.Say(4711, fmt.Sprint("/undo ", n[1]))
		_, err = x.Telegram.WaitSent(t.Context(), 4711, 4)
		e2etest.Must(t, err)
		if r, _ := as.Get("/settings"); r.StatusCode == 200 {
			t.Error("the browser that Bob signed out is signed in")
		}
	})
}

// Somebody with Ada's browser requests the deletion of her account. Her other apps are notified
// before, and can stop it; afterwards nobody can be notified.
func TestAttack_deletionIsToldOnOtherApps(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		p := newLinked(t, database(t))
		g := p.Open()
		l := p.Ledger()
		p.Say("telegram", "one")
		p.Say("whatsapp", "two")
		p.Merge(l, g)
		code := regexp.MustCompile(`code=([A-Za-z0-9-]+)`)
		enter := func() *e2etest.Guest { return g.NewGuest(code.FindStringSubmatch(p.Say("telegram", "/web"))[1]) }
		word := url.Values{"word": {"DELETE"}}
		there := func() int { return l.Count(e2etest.Users) }

		v := enter()
		v.Post("/settings/delete", word)
		p.Contains(p.Hear("whatsapp"), "Is this you?", "delete your account")
		p.Contains(p.Hear("telegram"), "A browser where you're signed in", "Go-http-client", "delete your account",
			"can't be undone", "I've asked on whatsapp", p.Phone.Name, "reply no there", "/undo", "/web")
		p.Contains(p.Say("whatsapp", "/yes"), "Continue in the browser")
		n := regexp.MustCompile(`/undo (\d+)[^\n]*Browser signed in`).FindStringSubmatch(p.Say("telegram", "/undo"))
		if n == nil {
			t.Fatalf("/undo does not list the browser: %q", p.Script)
		}
		p.Contains(p.Say("telegram", "/undo "+n[1]), "Undone")
		p.Contains(p.Hear("whatsapp"), "Undone")
		if v.Post("/settings/delete", word); there() != 1 {
			t.Fatal("a browser that was signed out deleted her")
		}

		p.Say("telegram", "/language fr")
		word.Set("word", "SUPPRIMER")
		v, again := enter(), enter()
		v.Post("/settings/delete", word)
		p.Contains(p.Hear("whatsapp"), "Est-ce vous\u00a0?")
		p.Contains(p.Hear("telegram"), "supprimer votre compte", "C’est définitif", "whatsapp",
			"répondez «\u00a0non\u00a0» là-bas", "/undo", "/web")
		p.Say("whatsapp", "/yes")
		again.Post("/settings/sessions/end", nil)
		if v.Post("/settings/delete", word); there() != 1 {
			t.Fatal("a browser that was signed out with all others deleted her")
		}

		v = enter()
		v.Get("/settings/export")
		p.Contains(p.Hear("whatsapp"), "emporter")
		p.Say("whatsapp", "/yes")
		if _, body := v.Get("/settings/export"); !strings.HasPrefix(body, "PK") {
			t.Errorf("after the yes: %.200s", body)
		}
		for _, channel := range []string{"telegram", "whatsapp"} {
			p.Contains(p.Hear(channel), "a été exporté", "ne s’annule pas")
		}
		v.Post("/settings/delete", word)
		p.Hear("whatsapp")
		p.Hear("telegram")
		p.Say("whatsapp", "/yes")
		l.Quiet(e2etest.Patience, g.Log)
		if v.Post("/settings/delete", word); there() != 0 {
			t.Error("she is not deleted")
		}
		if a, b := len(p.Telegram.Sent(e2etest.Ada)), len(p.Wa.Sent()); a != p.Heard["telegram"] || b != p.Heard["whatsapp"] {
			t.Errorf("more was said: %q, %q", e2etest.Texts(p.Telegram.Sent(e2etest.Ada)), p.OnPhone())
		}
	})
}

// Both sides of a merge have other apps, and each of them is notified.
func TestMerge_isToldToBoth(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		p := newLinked(t, database(t))
		g := p.Open()
		l := p.Ledger()
		p.Say("telegram", "one")
		p.Say("whatsapp", "two")
		for n, channel := range []string{"telegram", "whatsapp"} {
			other := e2etest.Strangers + int64(n)
			p.At(other, "/link "+e2etest.ShownCode.FindString(p.Say(channel, "/link")), true)
			p.Hear(channel)
			p.Contains(p.Say(channel, "/yes"), "is now connected as you")
			p.Contains(p.Town.Sent(other, 2)[1].Text, "connected now")
		}
		p.Merge(l, g)
		p.Contains(p.Town.Sent(e2etest.Strangers, 3)[2].Text, "whatsapp", p.Phone.Name,
			"and you are becoming one: that was confirmed on telegram", "can't be taken back", "/unlink")
		p.Contains(p.Town.Sent(e2etest.Strangers+1, 3)[2].Text, "telegram",
			"is being connected as you: that was confirmed on whatsapp", p.Phone.Name, "can't be taken back", "/unlink")
		l.Quiet(e2etest.Patience, g.Log)
		if got := p.At(e2etest.Strangers+1, "/undo", true); strings.Contains(got, "from another account") {
			t.Errorf("/undo lists the merge: %q", got)
		}
	})
}
