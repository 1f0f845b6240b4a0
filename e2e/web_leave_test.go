//go:build e2e

package e2e

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
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// secretWord stands in much of what the one who leaves has said.
const secretWord = "xylotheque"

// farewell is a gateway that Ada, who has said much, leaves, and on which Bob stays.
type farewell struct {
	*town
	g    *gateway
	l    *ledger
	user string // Ada
	bob  string
}

// newFarewell has Ada say something on every channel that there is, and brings in
// a history of n messages.
func newFarewell(t *testing.T, database string, n int, env ...string) *farewell {
	t.Helper()
	w := newTown(t, database)
	f := &farewell{town: w, g: w.start(env...), l: w.ledger()}
	w.telegram.Say(bob, "I stay, whatever "+secretWord+" says")
	w.sent(bob, 1)
	f.bob = w.member()
	for n, text := range []string{"hello from the " + secretWord, "/remember I like the " + secretWord, "/remind in 3 days visit the " + secretWord, "/thread About the " + secretWord, "what is in it?", "/continuous"} {
		w.telegram.Say(ada, text)
		w.sent(ada, n+1)
	}
	f.user = f.l.lines(`SELECT user_id FROM identities WHERE external = $1`, fmt.Sprint(ada))[0]
	v := f.g.newGuest(f.signInCode(f.user))
	for i := range 5 {
		v.upload(fmt.Sprintf("%s-%d.txt", secretWord, i), []byte(secretWord))
	}
	v.post("/settings/keys", url.Values{"name": {secretWord}, "scope": {"read"}})
	f.l.quiet(60*time.Second, f.g.log)
	if n > 0 {
		w.mustRun("import", "telegram", f.history(n), "--user", f.user, "--no-summaries")
	}
	return f
}

// history writes an export of Telegram with n messages, one every ten minutes.
func (f *farewell) history(n int) string {
	f.t.Helper()
	var b bytes.Buffer
	b.WriteString(`{"name":"Bot","type":"bot_chat","id":7,"messages":[`)
	first := time.Now().AddDate(0, -1, 0).Unix() - int64(n)*600
	for i := range n {
		if i > 0 {
			b.WriteString(",\n")
		}
		text := fmt.Sprintf("number %d of what was said about the %s, and of %d other things", i, secretWord, i%17)
		fmt.Fprintf(&b, `{"id":%d,"type":"message","date":"2020-01-01T00:00:00","date_unixtime":"%d","from":"x","from_id":"%s","text":%[4]q,"text_entities":[{"type":"plain","text":%[4]q}]}`,
			i+1, first+int64(i)*600, []string{"user5", "user7"}[i%2], text)
	}
	b.WriteString("]}")
	file := filepath.Join(f.t.TempDir(), "result.json")
	must(f.t, os.WriteFile(file, b.Bytes(), 0o600))
	return file
}

// tables are all tables that have rows of people.
func (f *farewell) tables() []string {
	f.t.Helper()
	query := `SELECT table_name FROM information_schema.columns WHERE table_schema = current_schema() AND column_name = 'user_id' ORDER BY 1`
	if f.database == "" {
		query = `SELECT m.name FROM sqlite_master m JOIN pragma_table_info(m.name) c ON c.name = 'user_id' WHERE m.type = 'table' AND m.sql LIKE 'CREATE TABLE%' ORDER BY 1`
	}
	return f.l.lines(query)
}

// rows counts what there is of a user, by table.
func (f *farewell) rows(user string) map[string]int {
	f.t.Helper()
	out := map[string]int{}
	for _, table := range f.tables() {
		if user == f.bob && strings.HasSuffix(table, "_terms") { // he is indexed when there is time
			continue
		}
		if n := f.l.count(`SELECT COUNT(*) FROM "`+table+`" WHERE user_id = $1`, user); n > 0 {
			out[table] = n
		}
	}
	if n := f.l.count(`SELECT COUNT(*) FROM users WHERE id = $1`, user); n > 0 {
		out["users"] = n
	}
	return out
}

// isGone makes sure that nothing is left of Ada, and that Bob lost nothing.
func (f *farewell) isGone(bobs map[string]int) {
	f.t.Helper()
	if left := f.rows(f.user); len(left) > 0 {
		f.t.Errorf("rows are left: %v", left)
	}
	if out := f.mustRun("users", "delete", f.user, "--verify", "--json"); !strings.Contains(out, `"left": []`) {
		f.t.Errorf("the check says %s", out)
	}
	if files, err := filepath.Glob(filepath.Join(f.dir, "media", f.user, "*")); err != nil || len(files) > 0 {
		f.t.Errorf("files are left: %v, %v", files, err)
	}
	if notes, err := filepath.Glob(filepath.Join(f.dir, "media", ".*")); err != nil || len(notes) > 0 {
		f.t.Errorf("notes are left: %v, %v", notes, err)
	}
	if now := f.rows(f.bob); fmt.Sprint(now) != fmt.Sprint(bobs) {
		f.t.Errorf("Bob has %v, had %v", now, bobs)
	}
	if strings.Contains(f.g.log.String(), secretWord) {
		f.t.Error("the log has words of hers")
	}
}

// Somebody with a long history deletes everything on the page: it shows how far it
// is, and proves at its end, without a session, that nothing is left.
func TestSomebodyDeletesEverythingOnThePage(t *testing.T) {
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		f := newFarewell(t, database(t), 20_000)
		p := f.g.newTab(t).allow("401")
		p.signIn(f.signInCode(f.user))
		f.askToLeave(p, "DELETE")
		f.agree(f.l, f.g)
		before, bobs := f.rows(f.user), f.rows(f.bob)
		if before["messages"] < 20_000 || len(before) < 15 {
			t.Fatalf("she has only %v", before)
		}
		p.open("/settings")
		p.sees("#data", "5 attachments")
		p.press(".danger-zone", "Delete everything")
		p.fill("#word", "DELETE")
		begun := time.Now()
		p.press(".danger-zone form", "Delete everything for good")
		p.within(2*time.Minute, `document.querySelector('.farewell')`)
		t.Logf("%d rows were gone after %s:\n%s", sum(before), time.Since(begun).Round(time.Millisecond), p.text("main"))
		for _, says := range []string{"20,0", "messages, 5 attachments", "5 of 5", "Looking everywhere", "Everything is deleted", "no row in any table"} {
			p.sees("main", says)
		}
		if p.is(`document.querySelector('.tabs')`) || !p.is(`document.querySelector('.farewell').getBoundingClientRect().top < innerHeight`) {
			t.Error("the page is still somebody's, or its end is out of sight")
		}
		f.isGone(bobs)
		p.open("/settings")
		p.sees("main", "There is no password")
		if f.database == "" {
			f.g.stop()
			for _, name := range []string{"everthread.db", "everthread.db-wal"} {
				b, err := os.ReadFile(filepath.Join(f.dir, name))
				if n := bytes.Count(b, []byte("about the "+secretWord)); err == nil && n > 0 {
					t.Errorf("%s holds her words %d times", name, n)
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

// sure has Ada ask for the deletion, and say yes on Telegram.
func (f *farewell) sure(v *guest) {
	f.t.Helper()
	if _, body := v.post("/settings/delete", url.Values{"word": {"DELETE"}}); !strings.Contains(body, "Say yes first") {
		f.t.Fatalf("nothing is asked: %.500s", body)
	}
	f.agree(f.l, f.g)
}

// press is the button of the page, for a browser without script.
func (f *farewell) press(v *guest) *http.Response {
	f.t.Helper()
	r := v.request(http.MethodPost, "/settings/delete", strings.NewReader("word=DELETE"))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	v.Client.Timeout = 0
	resp, err := v.Do(r)
	must(f.t, err)
	f.t.Cleanup(func() { resp.Body.Close() })
	return resp
}

// Wherever the process dies while somebody is deleted: either nothing is removed,
// and pressing again does it, or everything is once it has started again.
func TestADeletionThatIsKilledIsWholeOrNot(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		for _, at := range []string{"deleted rows", "deleted file:3", "a signal"} {
			t.Run(at, func(t *testing.T) {
				n, signal := 0, at == "a signal" // while the rows go
				if signal {
					n = 5000
				}
				f := newFarewell(t, database(t), n, "EVERTHREAD_CRASH_AT="+at)
				v := f.g.newGuest(f.signInCode(f.user))
				f.sure(v)
				before, bobs := f.rows(f.user), f.rows(f.bob)
				before["sessions"], before["once"] = 0, 0
				seen := f.untilItDies(f.press(v), signal)
				if strings.Contains(seen, "Everything is deleted") || !strings.Contains(seen, "If this page stops before it says") {
					t.Errorf("the page says\n%s", seen)
				}
				f.g = f.start()
				if v.g = f.g; f.l.count(`SELECT COUNT(*) FROM users WHERE id = $1`, f.user) > 0 {
					now := f.rows(f.user)
					now["sessions"], now["once"] = 0, 0
					if !signal || now["messages"] != before["messages"] || now["events"] != before["events"] || now["windows"] != before["windows"] {
						t.Errorf("half of it is gone: %v, was %v", now, before)
					}
					t.Log("the signal came before the rows were gone")
					v = f.g.newGuest(f.signInCode(f.user))
					f.sure(v)
					if body, err := io.ReadAll(f.press(v).Body); err != nil || !strings.Contains(string(body), "Everything is deleted") {
						t.Errorf("pressed again: %v, %.300s", err, body)
					}
				}
				f.untilNoFiles()
				f.isGone(bobs)
			})
		}
	})
}

// untilItDies reads a page until it breaks off, and kills the process itself if it
// is to, once rows are being removed.
func (f *farewell) untilItDies(resp *http.Response, kill bool) string {
	f.t.Helper()
	var seen strings.Builder
	for b := make([]byte, 512); ; {
		n, err := resp.Body.Read(b)
		seen.Write(b[:n])
		if kill && strings.Contains(seen.String(), "<li>Removing ") {
			_ = f.g.cmd.Process.Signal(syscall.SIGKILL)
			kill = false
		}
		if err != nil {
			break
		}
	}
	if !f.g.wait(20 * time.Second) {
		f.t.Fatal("it did not die")
	}
	return seen.String()
}

// untilNoFiles waits until what was noted of Ada is done.
func (f *farewell) untilNoFiles() {
	f.t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if left, err := filepath.Glob(filepath.Join(f.dir, "media", "*"+f.user)); err == nil && len(left) == 0 {
			return
		}
	}
}

// A message is forgotten, and the page tells that nothing is left of it; of what
// others said it tells nothing.
func TestThePageTellsWhatIsLeftOfAText(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		f := newFarewell(t, database(t), 0)
		f.telegram.Say(ada, "my PIN is quagmire 4711")
		f.sent(ada, 7)
		f.telegram.Say(bob, "nobody knows of the ostrich")
		f.sent(bob, 2)
		f.l.quiet(60*time.Second, f.g.log)
		v := f.g.newGuest(f.signInCode(f.user))
		look := func(text string) string {
			t.Helper()
			r, body := v.post("/settings/data", url.Values{"text": {text}})
			if r.StatusCode != http.StatusOK {
				t.Fatalf("%s: %.300s", r.Status, body)
			}
			return body
		}
		body := look("Quagmire 4711")
		id := f.l.lines(`SELECT id FROM messages WHERE role = 'user' AND body LIKE '%quagmire%'`)[0]
		if !strings.Contains(body, "It still stands in") || !strings.Contains(body, `<a href="/m/`+id+`">`) {
			t.Errorf("got %s", body)
		}
		for _, link := range regexp.MustCompile(`<a href="(/[^"]+)">`).FindAllStringSubmatch(body[strings.Index(body, `class="found"`):], -1) {
			if r, _ := v.get(link[1]); r.StatusCode >= 400 {
				t.Errorf("%s answers %s", link[1], r.Status)
			}
		}
		for _, m := range f.l.lines(`SELECT id FROM messages WHERE user_id = $1 AND body LIKE '%quagmire%' ORDER BY id`, f.user) { // the echo, too
			v.post("/m/"+m+"/forget", nil)
		}
		f.l.quiet(60*time.Second, f.g.log)
		if body := look("quagmire"); !strings.Contains(body, "Nothing of it is left.") {
			t.Errorf("got %s", body[strings.Index(body, "<main"):])
		}
		if body := look("ostrich"); !strings.Contains(body, "Nothing of it is left.") {
			t.Errorf("she is told of what Bob said: %s", body)
		}
		if log := f.g.log.String(); strings.Contains(log, "uagmire") || strings.Contains(log, "ostrich") {
			t.Error("the log has the text")
		}
	})
}

// The pages of leaving, as they are seen in both languages and themes, on a phone
// and on a desktop. The screenshots are kept.
func TestThePagesOfLeavingCanBeUsedByEverybody(t *testing.T) {
	axe, err := os.ReadFile(filepath.Join(filepath.Dir(os.Getenv("EVERTHREAD_TEST_AIMOCK")), "../axe-core/axe.min.js"))
	if err != nil {
		t.Skip("axe-core is not there; `make test` installs it")
	}
	f := newFarewell(t, "", 300)
	for n, look := range []struct {
		width                         int64
		theme, language, word, nobody string
	}{{360, "light", "en", "DELETE", "nothingofthesort"}, {360, "dark", "fr", "SUPPRIMER", "riendetel"}, {1280, "dark", "en", "DELETE", "nothingofthesort"}, {1280, "light", "fr", "SUPPRIMER", "riendetel"},
		{360, "light", "fr", "SUPPRIMER", "riendetel"}, {360, "dark", "en", "DELETE", "nothingofthesort"}} {
		p := f.g.newTab(t).allow("401")
		p.look(look.width, look.theme, look.language)
		p.signIn(f.signInCode(f.user))
		see := func(page string) {
			t.Helper()
			f.artefact(fmt.Sprintf("%s-%d-%s-%s.png", page, look.width, look.theme, look.language), p.picture(look.width))
			if wide := js[int](p, "document.documentElement.scrollWidth"); wide > int(look.width) {
				t.Errorf("%s in %s at %d is %d wide", page, look.language, look.width, wide)
			}
			for _, fault := range p.check(string(axe)) {
				said, _ := json.Marshal(fault)
				t.Errorf("%s in %s: %s", page, look.language, said)
			}
		}
		p.open("/settings")
		js[chromedp.Void](p, "document.querySelectorAll('.office-main > section:not(#data)').forEach((x) => x.remove()); document.querySelector('.danger-zone details').open = true")
		see("data")
		for page, text := range map[string]string{"traces-found": secretWord, "traces-none": look.nobody} {
			p.open("/settings")
			p.fill("#trace", text)
			p.click(".left-of button")
			p.comes("document.querySelector('.found')")
			see(page)
		}
		f.leaveSlowly(p, look.word, see)
		if n < 5 { // somebody comes again
			id := regexp.MustCompile(`user (\d+)`).FindStringSubmatch(f.mustRun("users", "add", fmt.Sprint("Ada ", n)))[1]
			f.user = id
			f.mustRun("import", "telegram", f.history(300), "--user", id, "--no-summaries")
		}
	}
}

// askToLeave presses the button that deletes everything: a yes is wanted first.
func (f *farewell) askToLeave(p *tab, word string) {
	f.t.Helper()
	p.open("/settings")
	p.press(".danger-zone", map[string]string{"DELETE": "Delete everything", "SUPPRIMER": "Tout supprimer"}[word])
	p.fill("#word", word)
	p.click(".danger-zone form button")
	p.comes("document.querySelector('.confirm form[action=\"/settings/delete\"]')")
}

// leaveSlowly deletes everything while somebody else writes for seconds.
func (f *farewell) leaveSlowly(p *tab, word string, see func(page string)) {
	f.t.Helper()
	f.askToLeave(p, word)
	see("asked")
	if f.l.count(`SELECT COUNT(*) FROM approvals a JOIN identities i ON i.user_id = a.user_id AND i.id = a.identity_id WHERE a.user_id = $1 AND a.state = 'open' AND i.channel = 'web'`, f.user) == 1 {
		p.open("/")
		p.comes("document.querySelector('.answer button')")
		see("question")
		p.click(".answer button")
		f.l.until(`SELECT COUNT(*) FROM approvals WHERE user_id = `+f.user+` AND state = 'yes'`, 1, f.g)
	} else {
		f.agree(f.l, f.g)
	}
	p.open("/settings")
	p.press(".danger-zone", map[string]string{"DELETE": "Delete everything", "SUPPRIMER": "Tout supprimer"}[word])
	p.fill("#word", word)
	held, err := f.l.db.Conn(f.t.Context())
	must(f.t, err)
	_, err = held.ExecContext(f.t.Context(), `BEGIN IMMEDIATE`)
	must(f.t, err)
	p.click(".danger-zone form button")
	p.comes(`[...document.querySelectorAll('.steps li:nth-child(2) .far')].filter((x) => x.checkVisibility()).some((x) => parseInt(x.innerText) >= 2 && x.innerText.endsWith('\u00a0s'))`)
	see("leaving")
	_, err = held.ExecContext(f.t.Context(), `ROLLBACK`)
	must(f.t, err)
	must(f.t, held.Close())
	p.comes("document.querySelector('.farewell .note.good')")
	see("gone")
}
