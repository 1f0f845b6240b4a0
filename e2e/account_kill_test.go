//go:build e2e

package e2e

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// died waits until a process has died of its own.
func (g *gateway) died() {
	g.t.Helper()
	if !g.wait(patience) {
		g.t.Fatalf("it did not die\n%s", g.log)
	}
	if code := g.cmd.ProcessState.ExitCode(); code != 137 {
		g.t.Fatalf("exit code %d\n%s", code, g.log)
	}
}

// hearing counts the messages that say something, besides repeats that are marked.
// One that was about to be sent when the process died may come marked alone.
func hearing(sent []string, words string) (n int) {
	marked := 0
	for _, text := range sent {
		switch {
		case !strings.Contains(text, words):
		case strings.HasSuffix(text, repeatMark):
			marked = 1
		default:
			n++
		}
	}
	return max(n, marked)
}

// Whichever of both says yes when the process dies, before it is stored or after:
// they become one once, and each is told once.
func TestAYesToAMergeThatIsKilledCountsOnce(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		for _, c := range []struct{ at, step string }{{"whatsapp", "received"}, {"whatsapp", "stored"}, {"telegram", "received"}, {"telegram", "stored"}, {"telegram", "moved:2"}} {
			t.Run(c.at+" "+c.step, func(t *testing.T) {
				t.Parallel()
				p := newLinked(t, database(t))
				g := p.open()
				l := p.ledger()
				p.say("telegram", "one")
				p.say("whatsapp", "two")
				p.contains(p.say("whatsapp", "/link "+shownCode.FindString(p.say("telegram", "/link"))), "Is this you, too?")
				if c.at == "telegram" {
					p.contains(p.say("whatsapp", "yes"), "I have asked")
					p.contains(p.hear("telegram"), "Is this you?")
				}
				p.settle(l, g)
				g.kill()
				g = p.open("EVERTHREAD_CRASH_AT=" + c.step)
				if c.at == "whatsapp" {
					p.wa.Say(p.phone, "yes")
				} else {
					p.write("yes")
				}
				g.died()
				g = p.open()
				if c.at == "whatsapp" {
					l.until(`SELECT COUNT(*) FROM approvals WHERE kind = 'link' AND state = 'open'`, 1, g)
					p.settle(l, g)
					p.write("/yes")
				}
				l.until(`SELECT COUNT(*) FROM moves WHERE phase = 'done'`, 1, g)
				l.until(users, 1, g)
				p.write("/yes") // once more: there is nothing left to say it to
				l.until(`SELECT COUNT(*) FROM messages WHERE body LIKE '%nothing here to say yes or no to%'`, 1, g)
				p.settle(l, g)
				for what, query := range map[string]string{"moves": `SELECT COUNT(*) FROM moves`, "merges that are told": `SELECT COUNT(*) FROM audit WHERE what = 'merged'`,
					"yeses": `SELECT COUNT(*) FROM approvals WHERE kind = 'link' AND state = 'yes'`, "questions": `SELECT COUNT(*) FROM approvals WHERE kind = 'link'`} {
					if n := l.count(query); n != 1 {
						t.Errorf("%d %s", n, what)
					}
				}
				home, phone := texts(p.telegram.Sent(ada)), p.onPhone()
				for words, n := range map[string]int{"bringing your two conversations together": hearing(home, "bringing your two"), "Is this you?": hearing(home, "Is this you?"),
					"one now": hearing(phone, "are one now"), "I have asked": hearing(phone, "I have asked")} {
					if n != 1 {
						t.Errorf("%q is said %d times: %q, %q", words, n, home, phone)
					}
				}
			})
		}
	})
}

// An address that nobody knows becomes a person's once, and is told so once.
func TestAYesToANewAppThatIsKilledIsToldThere(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		for _, step := range []string{"received", "stored"} {
			t.Run(step, func(t *testing.T) {
				t.Parallel()
				p := newLinked(t, database(t))
				g := p.open()
				l := p.ledger()
				p.say("telegram", "one")
				p.contains(p.at(strangers, "/link "+p.shown(), true), "I have asked")
				p.contains(p.hear("telegram"), "Is this you?")
				p.settle(l, g)
				g.kill()
				g = p.open("EVERTHREAD_CRASH_AT=" + step)
				p.write("yes")
				g.died()
				g = p.open()
				l.until(`SELECT COUNT(*) FROM identities WHERE external = '`+fmt.Sprint(strangers)+`'`, 1, g)
				p.settle(l, g)
				home, there := texts(p.telegram.Sent(ada)), texts(p.telegram.Sent(strangers))
				if a, b := hearing(home, "is you from now on"), hearing(there, "connected now"); a != 1 || b != 1 {
					t.Errorf("told %q and %q", home, there)
				}
				if got := p.at(strangers, "and here I am", true); got != "echo: and here I am" {
					t.Errorf("got %q", got)
				}
			})
		}
	})
}

// breaks sends a form and does not mind if the answer breaks off.
func (v *guest) breaks(path, form string) string {
	v.g.t.Helper()
	method := http.MethodPost
	if form == "GET" {
		method, form = http.MethodGet, ""
	}
	r := v.request(method, path, strings.NewReader(form))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := v.Do(r)
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	return string(b)
}

// askedChange is a change of an account that a browser asks for.
type askedChange struct {
	name, path, form string // form: GET, or what is posted
	shown            string // matches what the page shows of it
	made             string // counts what was made
	told             string // on Telegram
}

func accountChanges(bob string) []askedChange {
	return []askedChange{
		{"key", "/settings/keys", "name=robot&scope=admin", `et_\w+`, `SELECT COUNT(*) FROM api_keys`, "A key with admin rights was made"},
		{"sign-in", "/admin/users/" + bob + "/link", "", `signin\?code=\w+`, `SELECT COUNT(*) FROM codes WHERE kind = 'web' AND user_id = ` + cmp.Or(bob, "0"), "made a link that signs in as"},
		{"export", "/settings/export", "GET", `^PK`, `SELECT COUNT(*) FROM audit WHERE what = 'export'`, "exported into a file"},
	}
}

// A yes on Telegram to what a browser asks for, and the process dies before it is
// made or right after, when nobody has seen it: it is there at most once, all are
// told exactly if it is, and what nobody saw can be taken back.
func TestAYesToABrowserThatIsKilledMakesAtMostOne(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		for n := range accountChanges("") {
			for _, step := range []string{"sure", "changed"} {
				t.Run(accountChanges("")[n].name+" "+step, func(t *testing.T) {
					t.Parallel()
					x := newTrusting(t, database(t), nil)
					l := x.ledger()
					x.telegram.Say(ben, "hello")
					x.town.sent(ben, 1)
					c := accountChanges(l.userOf(fmt.Sprint(ben)))[n]
					v := x.g.newGuest(regexp.MustCompile(`code=([A-Za-z0-9-]+)`).FindStringSubmatch(x.ask("/web").Text)[1])
					x.killChange(l, v, c, step)
				})
			}
		}
	})
}

func (x *trusting) killChange(l *ledger, v *guest, c askedChange, step string) {
	t := x.t
	t.Helper()
	told := func() int { return hearing(texts(x.telegram.Sent(ada)), c.told) }
	v.breaks(c.path, c.form)
	x.agree(l, x.g)
	before := l.count(c.made)
	x.g.kill()
	g := x.start("EVERTHREAD_CRASH_AT=" + step)
	v.g = g
	if page := v.breaks(c.path, c.form); regexp.MustCompile(c.shown).MatchString(page) {
		t.Errorf("the page shows it before it died: %.300s", page)
	}
	g.died()
	x.g = x.start()
	v.g = x.g
	l.quiet(patience, x.g.log)
	made := map[string]int{"sure": 0, "changed": 1}[step]
	if n := l.count(c.made) - before; c.name != "export" && n != made { // no file has left
		t.Errorf("after the crash there are %d more", n)
	}
	if n := told(); n != made {
		t.Errorf("told %d times after the crash, want %d", n, made)
	}
	page := v.breaks(c.path, c.form)
	if step == "changed" { // the yes was for one, which is gone or can be undone
		if !strings.Contains(page, "Say yes first") {
			t.Errorf("a second one without a yes: %.300s", page)
		}
		if c.name == "key" {
			x.undoesKey(l)
		}
		return
	}
	if !regexp.MustCompile(c.shown).MatchString(page) {
		t.Errorf("the yes does not count after the crash: %.300s", page)
	}
	l.quiet(patience, x.g.log)
	if n := told(); n != 1 {
		t.Errorf("told %d times in the end", n)
	}
}

// undoesKey takes the key that nobody has seen back.
func (x *trusting) undoesKey(l *ledger) {
	x.t.Helper()
	n := l.lines(`SELECT id FROM audit WHERE what = 'key_made'`)
	x.telegram.Say(ada, "/undo "+n[0])
	l.until(`SELECT COUNT(*) FROM api_keys`, 0, x.g)
}

// A deletion that was said yes to, and the process dies before anything is removed:
// she is whole, and the same yes, or a new one, still counts.
func TestADeletionIsWholeIfTheProcessDiesAfterTheYes(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		for _, c := range []struct {
			step string
			again bool // in another browser, which has to ask
		}{{"sure", false}, {"sure", true}, {"deleting rows", false}} {
			t.Run(fmt.Sprint(c.step, " ", c.again), func(t *testing.T) {
				t.Parallel()
				f := newFarewell(t, database(t), 0, "EVERTHREAD_CRASH_AT="+c.step)
				v := f.g.newGuest(f.signInCode(f.user))
				f.sure(v)
				f.l.quiet(patience, f.g.log)
				before, bobs := f.rows(f.user), f.rows(f.bob)
				if page := v.breaks("/settings/delete", "word=DELETE"); strings.Contains(page, "Everything is deleted") {
					t.Errorf("the page says %s", page)
				}
				f.g.died()
				f.g = f.start()
				v.g = f.g
				if r, body := v.get("/settings"); r.StatusCode != http.StatusOK || !strings.Contains(body, "Delete everything") {
					t.Errorf("after the crash: %s", r.Status)
				}
				now := f.rows(f.user)
				for _, table := range []string{"sessions", "once", "jobs", "message_terms"} {
					delete(before, table)
					delete(now, table)
				}
				if fmt.Sprint(now) != fmt.Sprint(before) {
					t.Errorf("she has %v, had %v", now, before)
				}
				if c.again {
					v = f.g.newGuest(f.signInCode(f.user))
					f.sure(v)
				}
				if _, body := v.post("/settings/delete", url.Values{"word": {"DELETE"}}); !strings.Contains(body, "Everything is deleted") {
					t.Errorf("pressed again: %.500s", body)
				}
				f.untilNoFiles()
				f.isGone(bobs)
			})
		}
	})
}
