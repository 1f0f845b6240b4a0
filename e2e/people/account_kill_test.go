//go:build e2e

package people

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/everthread/everthread/e2e/e2etest"
)

// hearing counts the messages that contain words, without repeats that are marked as such. A
// message that was about to be sent when the process died may arrive only marked.
func hearing(sent []string, words string) (n int) {
	marked := 0
	for _, text := range sent {
		switch {
		case !strings.Contains(text, words):
		case strings.HasSuffix(text, e2etest.RepeatMark):
			marked = 1
		default:
			n++
		}
	}
	return max(n, marked)
}

// Whichever user approves a merge, and whether the process dies before or after storing the yes,
// they are merged once and each is told once.
func TestMerge_killedYesCountsOnce(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		for _, c := range []struct{ at, step string }{{"whatsapp", "received"}, {"whatsapp", "stored"},
			{"telegram", "received"}, {"telegram", "stored"}, {"telegram", "merged"}} {
			t.Run(c.at+" "+c.step, func(t *testing.T) {
				t.Parallel()
				p := newLinked(t, database(t))
				g := p.Open()
				l := p.Ledger()
				p.Say("telegram", "one")
				p.Say("whatsapp", "two")
				p.Contains(p.Say("whatsapp", "/link "+e2etest.ShownCode.FindString(p.Say("telegram", "/link"))),
					"Is this you, too?")
				if c.at == "telegram" {
					p.Contains(p.Say("whatsapp", "yes"), "I've asked")
					p.Contains(p.Hear("telegram"), "Is this you?")
				}
				p.Settle(l, g)
				g.Kill()
				g = p.Open("EVERTHREAD_CRASH_AT=" + c.step)
				if c.at == "whatsapp" {
					p.Wa.Say(p.Phone, "yes")
				} else {
					p.Write("yes")
				}
				g.Died()
				g = p.Open()
				if c.at == "whatsapp" {
					l.Until(`SELECT COUNT(*) FROM approvals WHERE kind = 'link' AND state = 'open'`, 1, g)
					p.Settle(l, g)
					p.Write("/yes")
				}
				l.Until(`SELECT COUNT(*) FROM merges WHERE phase = 'done'`, 1, g)
				l.Until(e2etest.Users, 1, g)
				p.Write("/yes") // again: there is no question left to answer
				l.Until(`SELECT COUNT(*) FROM messages WHERE body LIKE '%nothing here to say yes or no to%'`, 1, g)
				p.Settle(l, g)
				for what, query := range map[string]string{"merges": `SELECT COUNT(*) FROM merges`,
					"merges that are told": `SELECT COUNT(*) FROM audit WHERE what = 'merged'`,
					"yeses":                `SELECT COUNT(*) FROM approvals WHERE kind = 'link' AND state = 'yes'`,
					"questions":            `SELECT COUNT(*) FROM approvals WHERE kind = 'link'`} {
					if n := l.Count(query); n != 1 {
						t.Errorf("%d %s", n, what)
					}
				}
				home, phone := e2etest.Texts(p.Telegram.Sent(e2etest.Ada)), p.OnPhone()
				for words, n := range map[string]int{"joining your two conversations": hearing(home, "joining your two"),
					"Is this you?": hearing(home, "Is this you?"), "one now": hearing(phone, "are one now"),
					"I've asked": hearing(phone, "I've asked")} {
					if n != 1 {
						t.Errorf("%q is said %d times: %q, %q", words, n, home, phone)
					}
				}
			})
		}
	})
}

// An unknown address becomes a user's once, and is told so once.
func TestNewApp_killedYesIsToldThere(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		for _, step := range []string{"received", "stored"} {
			t.Run(step, func(t *testing.T) {
				t.Parallel()
				p := newLinked(t, database(t))
				g := p.Open()
				l := p.Ledger()
				p.Say("telegram", "one")
				p.Contains(p.At(e2etest.Strangers, "/link "+p.Shown(), true), "I've asked")
				p.Contains(p.Hear("telegram"), "Is this you?")
				p.Settle(l, g)
				g.Kill()
				g = p.Open("EVERTHREAD_CRASH_AT=" + step)
				p.Write("yes")
				g.Died()
				g = p.Open()
				l.Until(`SELECT COUNT(*) FROM identities WHERE external = '`+fmt.Sprint(e2etest.Strangers)+`'`, 1, g)
				p.Settle(l, g)
				home, there := e2etest.Texts(p.Telegram.Sent(e2etest.Ada)), e2etest.Texts(p.Telegram.Sent(e2etest.Strangers))
				if a, b := hearing(home, "is now connected as you"), hearing(there, "connected now"); a != 1 || b != 1 {
					t.Errorf("got %q at home and %q on the new app", home, there)
				}
				if got := p.At(e2etest.Strangers, "and here I am", true); got != "echo: and here I am" {
					t.Errorf("got %q", got)
				}
			})
		}
	})
}

// askedChange is a change of an account that a browser requests.
type askedChange struct {
	name, path, form string // form: empty for GET, or the body of a POST
	shown            string // matches what the page shows of the change
	made             string // counts the changes made
	told             string // what Telegram is told
}

func accountChanges(bob string) []askedChange {
	return []askedChange{
		{"key", "/settings/keys", "name=robot&scope=admin", `et_\w+`, `SELECT COUNT(*) FROM api_keys`,
			"A key with admin rights was created"},
		{"sign-in", "/admin/users/" + bob + "/link", "", `signin\?code=\w+`,
			`SELECT COUNT(*) FROM codes WHERE kind = 'web' AND user_id = ` + cmp.Or(bob, "0"), "created a link that signs in as"},
		{"export", "/settings/export", "GET", `^PK`, `SELECT COUNT(*) FROM audit WHERE what = 'export'`,
			"exported to a file"},
	}
}

// The process dies just before or after making a change that a browser requested and Telegram
// approved, before anybody sees it. The change is made at most once, everybody is told exactly if
// it is, and it can be undone.
func TestBrowser_killedYesCountsOnceAtMost(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		for n := range accountChanges("") {
			for _, step := range []string{"sure", "changed"} {
				t.Run(accountChanges("")[n].name+" "+step, func(t *testing.T) {
					t.Parallel()
					x := newTrusting(t, database(t), nil)
					l := x.Ledger()
					x.Telegram.Say(ben, "hello")
					x.Town.Sent(ben, 1)
					c := accountChanges(l.UserOf(fmt.Sprint(ben)))[n]
					v := x.g.NewGuest(regexp.MustCompile(`code=([A-Za-z0-9-]+)`).FindStringSubmatch(x.Ask("/web").Text)[1])
					x.killChange(l, v, c, step)
				})
			}
		}
	})
}

func (x *trusting) killChange(l *e2etest.Ledger, v *e2etest.Guest, c askedChange, step string) {
	t := x.T
	t.Helper()
	told := func() int { return hearing(e2etest.Texts(x.Telegram.Sent(e2etest.Ada)), c.told) }
	v.Breaks(c.path, c.form)
	x.Agree(l, x.g)
	before := l.Count(c.made)
	x.g.Kill()
	g := x.Start("EVERTHREAD_CRASH_AT=" + step)
	v.G = g
	if page := v.Breaks(c.path, c.form); regexp.MustCompile(c.shown).MatchString(page) {
		t.Errorf("the page shows it before it died: %.300s", page)
	}
	g.Died()
	x.g = x.Start()
	v.G = x.g
	l.Quiet(e2etest.Patience, x.g.Log)
	made := map[string]int{"sure": 0, "changed": 1}[step]
	if n := l.Count(c.made) - before; c.name != "export" && n != made { // no file was downloaded
		t.Errorf("%d more after the crash", n)
	}
	if n := told(); n != made {
		t.Errorf("notified %d times after the crash, want %d", n, made)
	}
	page := v.Breaks(c.path, c.form)
	if step == "changed" { // the yes was for a change that is gone or can be undone
		if !strings.Contains(page, "Confirm first") {
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
	l.Quiet(e2etest.Patience, x.g.Log)
	if n := told(); n != 1 {
		t.Errorf("notified %d times in the end", n)
	}
}

// undoesKey revokes a key that was never shown.
func (x *trusting) undoesKey(l *e2etest.Ledger) {
	x.T.Helper()
	n := l.Lines(`SELECT id FROM audit WHERE what = 'key_made'`)
	x.Telegram.Say(e2etest.Ada, "/undo "+n[0])
	l.Until(`SELECT COUNT(*) FROM api_keys`, 0, x.g)
}

// The process dies after a deletion was approved and before anything is removed: the account is
// complete, and the same yes, or a new one, still counts.
func TestAccountDeletion_killedAfterTheYesIsWhole(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		for _, c := range []struct {
			step  string
			again bool // in another browser, which has to ask again
		}{{"sure", false}, {"sure", true}, {"deleting rows", false}} {
			t.Run(fmt.Sprint(c.step, " ", c.again), func(t *testing.T) {
				t.Parallel()
				f := e2etest.NewFarewell(t, database(t), 0, "EVERTHREAD_CRASH_AT="+c.step)
				v := f.G.NewGuest(f.SignInCode(f.User))
				f.Sure(v)
				f.L.Quiet(e2etest.Patience, f.G.Log)
				before, bobs := f.Rows(f.User), f.Rows(f.Bob)
				if page := v.Breaks("/settings/delete", "word=DELETE"); strings.Contains(page, "Everything is deleted") {
					t.Errorf("got page %s", page)
				}
				f.G.Died()
				f.G = f.Start()
				v.G = f.G
				if r, body := v.Get("/settings/data"); r.StatusCode != http.StatusOK || !strings.Contains(body, "Delete everything") {
					t.Errorf("after the crash: %s", r.Status)
				}
				now := f.Rows(f.User)
				for _, table := range []string{"sessions", "once", "jobs", "message_terms"} {
					delete(before, table)
					delete(now, table)
				}
				if fmt.Sprint(now) != fmt.Sprint(before) {
					t.Errorf("she has %v, had %v", now, before)
				}
				if c.again {
					v = f.G.NewGuest(f.SignInCode(f.User))
					f.Sure(v)
				}
				if _, body := v.Post("/settings/delete", url.Values{"word": {"DELETE"}}); !strings.Contains(body,
					"Everything is deleted") {
					t.Errorf("pressed again: %.500s", body)
				}
				f.UntilNoFiles()
				f.IsGone(bobs)
			})
		}
	})
}
