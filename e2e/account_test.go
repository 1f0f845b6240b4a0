//go:build e2e

package e2e

import (
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// openAccount finds the question about an account change that waits.
func openAccount(l *ledger) (code string, chat int64) {
	for _, line := range l.lines(`SELECT a.code || ' ' || i.external FROM approvals a JOIN identities i ON i.user_id = a.user_id AND i.id = a.identity_id
		WHERE a.kind = 'account' AND a.state = 'open' AND i.channel = 'telegram' ORDER BY a.asked_at DESC, a.id DESC LIMIT 1`) {
		code, external, _ := strings.Cut(line, " ")
		chat, _ = strconv.ParseInt(external, 10, 64)
		return code, chat
	}
	return "", 0
}

// agree says yes on Telegram to the account change that is asked about there.
func (w *town) agree(l *ledger, g *gateway) {
	w.t.Helper()
	code, chat := openAccount(l)
	for deadline := time.Now().Add(patience); code == "" && time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		code, chat = openAccount(l)
	}
	if code == "" {
		w.t.Fatalf("nothing is asked on Telegram\n%s", g.log)
	}
	n := len(w.telegram.Sent(chat))
	if sent := w.telegram.Sent(chat); n == 0 || !strings.Contains(sent[n-1].Markup, code) {
		n++ // the question is on its way
	}
	asked, err := w.telegram.WaitSent(w.t.Context(), chat, n)
	must(w.t, err)
	w.telegram.Press(chat, asked[n-1].ID, "/yes "+code)
	said, err := w.telegram.WaitSent(w.t.Context(), chat, n+1)
	must(w.t, err)
	if !strings.Contains(said[n].Text, "Go on in the browser") {
		w.t.Fatalf("after the yes: %q", said[n].Text)
	}
}

func TestAttackAStolenBrowserIsNotTheAccount(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		x := newTrusting(t, database(t), nil)
		l := x.ledger()
		code := regexp.MustCompile(`code=([A-Za-z0-9-]+)`)
		v := x.g.newGuest(code.FindStringSubmatch(x.ask("/web").Text)[1])
		keys := func() int { return l.count(`SELECT COUNT(*) FROM api_keys`) }
		form := url.Values{"name": {"robot"}, "scope": {"admin"}}

		_, body := v.post("/settings/keys", form)
		q := x.receive()
		for _, want := range []string{"Is this you?", "key with admin rights", "robot", "say yes"} {
			if !strings.Contains(q.Text, want) {
				t.Errorf("the question does not say %q: %s", want, q.Text)
			}
		}
		if !strings.Contains(body, "Say yes first") || strings.Contains(body, "et_") || keys() != 0 {
			t.Fatalf("a key was made without a yes: %.300s", body)
		}
		asked, _ := openAccount(l)
		v.post("/messages", url.Values{"text": {"/yes " + asked}, "nonce": {"0123456789abcdef"}}) // from the browser itself
		x.telegram.Say(4711, "/yes "+asked)                                                       // by another person
		_, err := x.telegram.WaitSent(t.Context(), 4711, 1)
		must(t, err)
		if v.post("/settings/keys", form); keys() != 0 {
			t.Fatal("a yes of the browser, or of somebody else, counted")
		}
		if got := x.press(q, "no"); !strings.Contains(got, "nothing happens") {
			t.Errorf("after a no: %q", got)
		}
		v.post("/settings/keys", form)
		x.receive()
		x.agree(l, x.g)
		x.receive()                                                // that it goes on in the browser
		other := url.Values{"name": {"other"}, "scope": {"admin"}} // what was agreed to was another call
		if v.post("/settings/keys", other); keys() != 0 {
			t.Fatal("a yes counted for something else")
		}
		x.receive()
		if _, body = v.post("/settings/keys", form); !strings.Contains(body, "et_") || keys() != 1 {
			t.Fatalf("after the yes: %.300s", body)
		}
		if told := x.receive().Text; !strings.Contains(told, "A key with admin rights was made") || !strings.Contains(told, "/undo") {
			t.Errorf("told %q", told)
		}
		if v.post("/settings/keys", form); keys() != 1 {
			t.Error("one yes made two keys")
		}
		x.receive()
		x.agree(l, x.g)
		x.receive() // that it goes on in the browser
		x.set(x.now().Add(11 * time.Minute))
		if v.post("/settings/keys", form); keys() != 1 {
			t.Error("a yes counted after its time")
		}
		x.receive()
		list := x.ask("/undo").Text
		n := regexp.MustCompile("/undo (\\d+)`? · [-0-9: ]+ · Key").FindStringSubmatch(list)
		if n == nil {
			n = regexp.MustCompile(`/undo (\d+)[^\n]*Key for a program`).FindStringSubmatch(list)
		}
		if n == nil {
			t.Fatalf("/undo lists %q", list)
		}
		if got := x.ask("/undo " + n[1]).Text; !strings.Contains(got, "Undone: Key for a program made") || keys() != 0 {
			t.Errorf("got %q, %d keys", got, keys())
		}
		if got := x.ask("/undo " + n[1]).Text; !strings.Contains(got, "nothing to take back with the number "+n[1]) {
			t.Errorf("undone twice: %q", got)
		}

		bob := l.lines(`SELECT user_id FROM identities WHERE external = '4711'`)[0]
		if _, body = v.post("/admin/users/"+bob+"/link", nil); strings.Contains(body, "signin?code") {
			t.Fatalf("somebody else's link without a yes: %.300s", body)
		}
		x.receive()
		x.agree(l, x.g)
		x.receive() // that it goes on in the browser
		_, body = v.post("/admin/users/"+bob+"/link", nil)
		link := code.FindStringSubmatch(body)
		if link == nil {
			t.Fatalf("after the yes: %.500s", body)
		}
		told, err := x.telegram.WaitSent(t.Context(), 4711, 2)
		must(t, err)
		if !strings.Contains(told[1].Text, "made a link that signs in as") {
			t.Errorf("Bob is told %q", told[1].Text)
		}
		as := x.g.newGuest(link[1])
		x.telegram.Say(4711, "/undo")
		told, err = x.telegram.WaitSent(t.Context(), 4711, 3)
		must(t, err)
		n = regexp.MustCompile(`/undo (\d+)[^\n]*Browser signed in`).FindStringSubmatch(told[2].Text)
		if n == nil {
			t.Fatalf("Bob's /undo lists %q", told[2].Text)
		}
		x.telegram.Say(4711, fmt.Sprint("/undo ", n[1]))
		_, err = x.telegram.WaitSent(t.Context(), 4711, 4)
		must(t, err)
		if r, _ := as.get("/settings"); r.StatusCode == 200 {
			t.Error("the browser that Bob signed out is signed in")
		}
	})
}

// Somebody has a browser of Ada's, and asks to delete her: her other apps hear of it
// before it is done, and can stop it. After it nothing can be told any more.
func TestAttackADeletionIsToldOnTheOtherApps(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		p := newLinked(t, database(t))
		g := p.open()
		l := p.ledger()
		p.say("telegram", "one")
		p.say("whatsapp", "two")
		p.merge(l, g)
		code := regexp.MustCompile(`code=([A-Za-z0-9-]+)`)
		enter := func() *guest { return g.newGuest(code.FindStringSubmatch(p.say("telegram", "/web"))[1]) }
		word := url.Values{"word": {"DELETE"}}
		there := func() int { return l.count(users) }

		v := enter()
		v.post("/settings/delete", word)
		p.contains(p.hear("whatsapp"), "Is this you?", "delete your account")
		p.contains(p.hear("telegram"), "A browser where you are signed in", "Go-http-client", "delete your account", "cannot be undone", "I asked at whatsapp", p.phone.Name, "say no there", "/undo", "/web")
		p.contains(p.say("whatsapp", "/yes"), "Go on in the browser")
		n := regexp.MustCompile(`/undo (\d+)[^\n]*Browser signed in`).FindStringSubmatch(p.say("telegram", "/undo"))
		if n == nil {
			t.Fatalf("/undo does not list the browser: %q", p.script)
		}
		p.contains(p.say("telegram", "/undo "+n[1]), "Undone")
		p.contains(p.hear("whatsapp"), "Undone")
		if v.post("/settings/delete", word); there() != 1 {
			t.Fatal("a browser that was signed out deleted her")
		}

		p.say("telegram", "/language fr")
		word.Set("word", "SUPPRIMER")
		v, again := enter(), enter()
		v.post("/settings/delete", word)
		p.contains(p.hear("whatsapp"), "Est-ce vous\u00a0?")
		p.contains(p.hear("telegram"), "supprimer votre compte", "C’est définitif", "whatsapp", "répondez «\u00a0non\u00a0» là-bas", "/undo", "/web")
		p.say("whatsapp", "/yes")
		again.post("/settings/sessions/end", nil)
		if v.post("/settings/delete", word); there() != 1 {
			t.Fatal("a browser that was signed out with all others deleted her")
		}

		v = enter()
		v.get("/settings/export")
		p.contains(p.hear("whatsapp"), "emporter")
		p.say("whatsapp", "/yes")
		if _, body := v.get("/settings/export"); !strings.HasPrefix(body, "PK") {
			t.Errorf("after the yes: %.200s", body)
		}
		for _, channel := range []string{"telegram", "whatsapp"} {
			p.contains(p.hear(channel), "a été exporté", "ne s’annule pas")
		}
		v.post("/settings/delete", word)
		p.hear("whatsapp")
		p.hear("telegram")
		p.say("whatsapp", "/yes")
		l.quiet(patience, g.log)
		if v.post("/settings/delete", word); there() != 0 {
			t.Error("she is not deleted")
		}
		if a, b := len(p.telegram.Sent(ada)), len(p.wa.Sent()); a != p.heard["telegram"] || b != p.heard["whatsapp"] {
			t.Errorf("more was said: %q, %q", texts(p.telegram.Sent(ada)), p.onPhone())
		}
	})
}

// Both sides of a merge have other apps, and each of them hears of it.
func TestAMergeIsToldOnTheOtherAppsOfBoth(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		p := newLinked(t, database(t))
		g := p.open()
		l := p.ledger()
		p.say("telegram", "one")
		p.say("whatsapp", "two")
		for n, channel := range []string{"telegram", "whatsapp"} {
			other := strangers + int64(n)
			p.at(other, "/link "+shownCode.FindString(p.say(channel, "/link")), true)
			p.hear(channel)
			p.contains(p.say(channel, "/yes"), "is you from now on")
			p.contains(p.town.sent(other, 2)[1].Text, "connected now")
		}
		p.merge(l, g)
		p.contains(p.town.sent(strangers, 3)[2].Text, "whatsapp", p.phone.Name, "was linked to your account, by a yes at telegram", "/undo")
		p.contains(p.town.sent(strangers+1, 3)[2].Text, "telegram", "is to be you, too: that was said at whatsapp", p.phone.Name, "/undo")
		l.quiet(patience, g.log)
		n := regexp.MustCompile(`/undo (\d+)[^\n]*Apps came with somebody`).FindStringSubmatch(p.at(strangers+1, "/undo", true))
		if n == nil {
			t.Fatalf("/undo lists %q", texts(p.telegram.Sent(strangers+1)))
		}
		p.at(strangers+1, "/undo "+n[1], true)
		l.until(`SELECT COUNT(*) FROM identities i JOIN identities j ON j.user_id = i.user_id AND j.detached = 0 WHERE i.detached = 0 AND i.external = '`+fmt.Sprint(ada)+`' AND j.external = '`+p.phone.UserID+`'`, 0, g)
	})
}
