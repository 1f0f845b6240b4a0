//go:build e2e

package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/everthread/everthread/e2e/e2etest"
	"github.com/everthread/everthread/internal/fulltest"
)

// A user with a long history deletes their account on the page: it shows progress, and
// proves at its end, without a session, that nothing is left.
func TestAccountDeletion_onThePage(t *testing.T) {
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		f := e2etest.NewFarewell(t, database(t), 20_000)
		p := f.G.NewTab(t).Allow("401")
		p.SignIn(f.SignInCode(f.User))
		f.AskToLeave(p, "DELETE")
		f.Agree(f.L, f.G)
		before, bobs := f.Rows(f.User), f.Rows(f.Bob)
		if before["messages"] < 20_000 || len(before) < 15 {
			t.Fatalf("she has only %v", before)
		}
		p.Open("/settings/data")
		p.Sees("#data", "5 attachments")
		p.Press(".danger-zone", "Delete everything")
		p.Fill("#word", "DELETE")
		begun := time.Now()
		p.Press(".danger-zone form", "Delete everything for good")
		p.Within(2*time.Minute, `document.querySelector('.farewell')`)
		t.Logf("%d rows were gone after %s:\n%s", sum(before), time.Since(begun).Round(time.Millisecond), p.Text("main"))
		for _, says := range []string{"20,0", "messages, 5 attachments", "5 of 5", "Checking everywhere",
			"Everything is deleted", "no row in any table"} {
			p.Sees("main", says)
		}
		if p.Is(`document.querySelector('.tabs')`) || !p.Is(
			`document.querySelector('.farewell').getBoundingClientRect().top < innerHeight`) {
			t.Error("the page still has a user, or its end is not visible")
		}
		f.IsGone(bobs)
		p.Open("/settings")
		p.Sees("h1", "Sign in")
		if f.Database == "" {
			f.G.Stop()
			for _, name := range []string{"everthread.db", "everthread.db-wal"} {
				b, err := os.ReadFile(filepath.Join(f.Dir, name))
				if n := bytes.Count(b, []byte("about the "+e2etest.SecretWord)); err == nil && n > 0 {
					t.Errorf("%s contains her words %d times", name, n)
				}
			}
		}
	})
}

func sum(counts map[string]int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}

// Wherever the process dies during an account deletion, either nothing is deleted, and
// pressing again does it, or everything is after a restart.
func TestAccountDeletion_killedIsWholeOrNot(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		for _, at := range []string{"deleted rows", "deleted file:3", "a signal"} {
			t.Run(at, func(t *testing.T) {
				n, signal := 0, at == "a signal" // while rows are deleted
				if signal {
					n = 5000
				}
				f := e2etest.NewFarewell(t, database(t), n, "EVERTHREAD_CRASH_AT="+at)
				v := f.G.NewGuest(f.SignInCode(f.User))
				f.Sure(v)
				before, bobs := f.Rows(f.User), f.Rows(f.Bob)
				before["sessions"], before["once"] = 0, 0
				seen := f.UntilItDies(f.Press(v), signal)
				if strings.Contains(seen, "Everything is deleted") || !strings.Contains(seen, "If this page stops before it shows") {
					t.Errorf("got page\n%s", seen)
				}
				f.G = f.Start()
				if v.G = f.G; f.L.Count(`SELECT COUNT(*) FROM users WHERE id = $1`, f.User) > 0 {
					now := f.Rows(f.User)
					now["sessions"], now["once"] = 0, 0
					if !signal || now["messages"] != before["messages"] || now["events"] != before["events"] ||
						now["windows"] != before["windows"] {
						t.Errorf("the account is partly deleted: %v, was %v", now, before)
					}
					t.Log("the signal arrived before the rows were deleted")
					v = f.G.NewGuest(f.SignInCode(f.User))
					f.Sure(v)
					if body, err := io.ReadAll(f.Press(v).Body); err != nil ||
						!strings.Contains(string(body), "Everything is deleted") {
						t.Errorf("pressed again: %v, %.300s", err, body)
					}
				}
				f.UntilNoFiles()
				f.IsGone(bobs)
			})
		}
	})
}

// A message is forgotten, and the page reports that nothing is left of it. About messages of other
// users it reports nothing.
func TestForget_pageTellsWhatIsLeft(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		f := e2etest.NewFarewell(t, database(t), 0)
		f.Telegram.Say(e2etest.Ada, "my PIN is quagmire 4711")
		f.Sent(e2etest.Ada, 7)
		f.Telegram.Say(e2etest.Bob, "nobody knows of the ostrich")
		f.Sent(e2etest.Bob, 2)
		f.L.Quiet(60*time.Second, f.G.Log)
		v := f.G.NewGuest(f.SignInCode(f.User))
		look := func(text string) string {
			t.Helper()
			r, body := v.Post("/settings/data", url.Values{"text": {text}})
			if r.StatusCode != http.StatusOK {
				t.Fatalf("%s: %.300s", r.Status, body)
			}
			return body
		}
		body := look("Quagmire 4711")
		id := f.L.Lines(`SELECT id FROM messages WHERE role = 'user' AND body LIKE '%quagmire%'`)[0]
		if !strings.Contains(body, "It is still in") || !strings.Contains(body, `<a href="/m/`+id+`">`) {
			t.Errorf("got %s", body)
		}
		for _, link := range regexp.MustCompile(`<a href="(/[^"]+)">`).FindAllStringSubmatch(body[strings.Index(body,
			`class="found"`):], -1) {
			if r, _ := v.Get(link[1]); r.StatusCode >= 400 {
				t.Errorf("%s: got status %s", link[1], r.Status)
			}
		}
		for _, m := range f.L.Lines(`SELECT id FROM messages WHERE user_id = $1 AND body LIKE '%quagmire%' ORDER BY id`,
			f.User) { // including the echo
			v.Post("/m/"+m+"/forget", nil)
		}
		f.L.Quiet(60*time.Second, f.G.Log)
		if body := look("quagmire"); !strings.Contains(body, "Nothing of it is left.") {
			t.Errorf("got %s", body[strings.Index(body, "<main"):])
		}
		if body := look("ostrich"); !strings.Contains(body, "Nothing of it is left.") {
			t.Errorf("the page reports on Bob's message: %s", body)
		}
		if log := f.G.Log.String(); strings.Contains(log, "uagmire") || strings.Contains(log, "ostrich") {
			t.Error("the log has the text")
		}
	})
}

// The pages of an account deletion in two languages and themes, on a phone and on a desktop; all
// combinations if all tests are asked for. The screenshots are kept.
func TestAccountDeletion_pagesForEverybody(t *testing.T) {
	axe, err := os.ReadFile(filepath.Join(filepath.Dir(os.Getenv("EVERTHREAD_TEST_AIMOCK")), "../axe-core/axe.min.js"))
	if err != nil {
		t.Skip("axe-core is not there; `make test` installs it")
	}
	f := e2etest.NewFarewell(t, "", 300)
	looks := []struct {
		width                         int64
		theme, language, word, nobody string
	}{{360, "dark", "en", "DELETE", "nothingofthesort"}, {1280, "light", "fr", "SUPPRIMER", "riendetel"},
		{360, "light", "en", "DELETE", "nothingofthesort"}, {360, "dark", "fr", "SUPPRIMER", "riendetel"},
		{1280, "dark", "en", "DELETE", "nothingofthesort"}, {360, "light", "fr", "SUPPRIMER", "riendetel"}}
	if !fulltest.Asked() {
		looks = looks[:2]
	}
	for n, look := range looks {
		p := f.G.NewTab(t).Allow("401")
		p.Look(look.width, look.theme, look.language)
		p.SignIn(f.SignInCode(f.User))
		see := func(page string) {
			t.Helper()
			f.Artefact(fmt.Sprintf("%s-%d-%s-%s.png", page, look.width, look.theme, look.language), p.Picture(look.width))
			if wide := e2etest.Js[int](p, "document.documentElement.scrollWidth"); wide > int(look.width) {
				t.Errorf("%s in %s at %d is %d wide", page, look.language, look.width, wide)
			}
			for _, fault := range p.Check(string(axe)) {
				said, _ := json.Marshal(fault)
				t.Errorf("%s in %s: %s", page, look.language, said)
			}
		}
		p.Open("/settings/data")
		e2etest.Js[chromedp.Void](p, "document.querySelector('.danger-zone details').open = true")
		see("data")
		for page, text := range map[string]string{"traces-found": e2etest.SecretWord, "traces-none": look.nobody} {
			p.Open("/settings/data")
			p.Fill("#trace", text)
			p.Click(".left-of button")
			p.Comes("document.querySelector('.found')")
			see(page)
		}
		f.LeaveSlowly(p, look.word, see)
		if n < len(looks)-1 { // more people sign up
			id := regexp.MustCompile(`user (\d+)`).FindStringSubmatch(f.MustRun("users", "add", fmt.Sprint("Ada ", n)))[1]
			f.User = id
			f.MustRun("import", "telegram", f.History(300), "--user", id, "--no-summaries")
		}
	}
}
