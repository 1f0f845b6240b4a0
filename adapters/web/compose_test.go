package web

import (
	"errors"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/everthread/everthread/core"
)

const nonce = "aaaabbbbccccddddeeee"

// sent are the messages that the gateway took.
func (w *world) taken() []core.Inbound {
	w.gate.mu.Lock()
	defer w.gate.mu.Unlock()
	return append([]core.Inbound(nil), w.gate.received...)
}

func TestAMessageIsSentWithoutAScript(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.ana.signedIn()
	a := p.upload("/messages", map[string]string{"text": "hello\r\nthere", "nonce": nonce, "day": "2026-01-31",
		"thread": ""}, map[string]string{"": ""})
	a.wants(t, http.StatusSeeOther)
	if got := a.header.Get("Location"); got != "/" {
		t.Errorf("led to %s", got)
	}
	p.get("/").wants(t, 200, "hello<br", "there", "Web")
	in := w.taken()[0]
	if in.Text != "hello\nthere" || in.Address != p.door.Address || in.Thread != 0 || in.Kind != core.InMessage ||
		!in.SentAt.Equal(w.clock.now()) {
		t.Errorf("got %+v", in)
	}
}

func TestAFormThatIsSentTwiceIsOneMessage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.ana.signedIn()
	form := map[string]string{"text": "once", "nonce": nonce}
	for range 3 {
		p.upload("/messages", form, map[string]string{"a.txt": "x"}).wants(t, http.StatusSeeOther)
	}
	if n := len(p.get("/").shown()); n != 1 || w.gate.kept != 1 {
		t.Errorf("%d messages, %d files", n, w.gate.kept)
	}
	w.bob.signedIn().upload("/messages", map[string]string{"text": "bob's", "nonce": nonce}, nil).wants(t,
		http.StatusSeeOther)
	w.bob.get("/").wants(t, 200, "bob&#39;s")
	body := p.get("/").body
	again := p.get("/").body
	if nonceOf(t, body) == nonceOf(t, again) {
		t.Error("two forms have one nonce")
	}
}

func nonceOf(t *testing.T, body string) string {
	t.Helper()
	_, rest, ok := strings.Cut(body, `name="nonce" value="`)
	if !ok {
		t.Fatal("the form has no nonce")
	}
	n, _, _ := strings.Cut(rest, `"`)
	return n
}

func TestFilesComeWithAMessage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.ana.signedIn()
	p.upload("/messages", map[string]string{"text": "see these", "nonce": nonce},
		map[string]string{`..\..\etc/pass"wd[1]: x.txt`: "root"}).wants(t, http.StatusSeeOther)
	in := w.taken()[0]
	if len(in.Attachments) != 1 || in.Attachments[0].Name != "passwd_1__ x.txt" &&
		in.Attachments[0].Name != `pass"wd_1__ x.txt` {
		t.Fatalf("got %+v", in.Attachments)
	}
	if !strings.HasPrefix(in.Text, "see these\n[document ") {
		t.Errorf("the text is %q", in.Text)
	}
	a := p.get("/")
	a.wants(t, 200, "see these", "/media/1/0")
	a.lacks(t, "[document")
	got := p.get("/media/1/0")
	got.wants(t, 200, "root")
	if d := got.header.Get("Content-Disposition"); !strings.HasPrefix(d, "attachment") || strings.Contains(d, "/") {
		t.Errorf("disposition %q", d)
	}
}

func TestWhatIsTooMuchIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.ana.signedIn()
	form := map[string]string{"text": "x", "nonce": nonce}
	p.upload("/messages", form, map[string]string{"a": strings.Repeat("x", 1<<20+1)}).wants(t,
		http.StatusRequestEntityTooLarge, "too large together")
	p.upload("/messages", form, map[string]string{"a": strings.Repeat("x", 600<<10),
		"b": strings.Repeat("x", 600<<10)}).wants(t, http.StatusRequestEntityTooLarge, "too large together")
	many := map[string]string{}
	for n := range maxFiles + 1 {
		many[string(rune('a'+n))] = "x"
	}
	p.upload("/messages", form, many).wants(t, http.StatusRequestEntityTooLarge, "too many files")
	p.upload("/messages", form, map[string]string{"no-room": "x"}).wants(t, http.StatusRequestEntityTooLarge,
		"no room for more of your files")
	if len(w.taken()) > 0 {
		t.Error("something was taken")
	}
	p.get("/").wants(t, 200, `data-size="1048576"`, "1.0\u00a0MB together, at most 10")
}

func TestTheScriptIsAnsweredWithData(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.ana.signedIn()
	post := func(form url.Values) (int, map[string]string) {
		r := p.request(http.MethodPost, "/messages", strings.NewReader(form.Encode()))
		r.Header.Set("Accept", "application/json")
		a := p.do(r)
		var out map[string]string
		decode(t, a.body, &out)
		return a.status, out
	}
	if status, out := post(url.Values{"text": {"hello"}, "nonce": {nonce}, "day": {"2026-01-31"}}); status != 200 ||
		out["url"] != "/" {
		t.Errorf("got %d %v", status, out)
	}
	if status, out := post(url.Values{"text": {"hello"}, "nonce": {nonce + "2"}, "day": {"2026-01-29"}}); status != 200 ||
		out["url"] != "/day/2026-01-31" {
		t.Errorf("from another day: %d %v", status, out)
	}
	if status, out := post(url.Values{"text": {" "}, "nonce": {nonce}}); status != 400 || out["error"] == "" {
		t.Errorf("got %d %v", status, out)
	}
	p.post("/signout", nil)
	if status, out := post(url.Values{"text": {"x"}, "nonce": {nonce}}); status != 401 || out["error"] == "" {
		t.Errorf("got %d %v", status, out)
	}
}

func TestThreads(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.ana.signedIn()
	p.get("/threads").wants(t, 200, "No threads yet")
	a := p.post("/threads", url.Values{"title": {"  Recipes \n for  May "}})
	a.wants(t, http.StatusSeeOther)
	at := a.header.Get("Location")
	p.get(at).wants(t, 200, "Recipes for May", "Nothing said here yet", "Send")
	id := strings.TrimPrefix(at, "/threads/")
	p.upload("/messages", map[string]string{"text": "soup", "nonce": nonce, "thread": id}, nil).wants(t,
		http.StatusSeeOther)
	p.get(at).wants(t, 200, "soup")
	p.get("/").lacks(t, "soup")
	p.get("/threads").wants(t, 200, "Recipes for May", at)
	p.upload("/messages", map[string]string{"text": "and here", "nonce": nonce + "2"}, nil)
	p.get("/").wants(t, 200, "and here")
	if got := p.get("/m/1").header.Get("Location"); got != at+"?at=1#m1" {
		t.Errorf("a reference leads to %s", got)
	}
	for n := range 120 {
		p.says("note", func(s *said) { s.thread = w.taken()[0].Thread; s.at = p.door })
		_ = n
	}
	long := p.get(at)
	long.wants(t, 200, at+"?before=23")
	if n := len(long.shown()); n != 100 {
		t.Errorf("%d entries", n)
	}
	p.get(at+"?before=23").wants(t, 200, "soup")
	p.get(at+"?at=60").wants(t, 200, `id="m60"`, `id="m59"`, `id="m61"`)
}

func TestAContinuousMessageDoesNotFollowTheDoor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.ana.signedIn()
	_, err := w.gate.Act(w.ctx, p.user.ID, core.OpenThread{Identity: p.door.ID, Title: "Elsewhere", At: w.clock.now()})
	w.must(err)
	p.upload("/messages", map[string]string{"text": "to the continuous one", "nonce": nonce}, nil)
	p.get("/").wants(t, 200, "to the continuous one")
}

func TestStopAndRetry(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.ana.signedIn()
	p.says("hello")
	turn := p.turn()
	p.get("/").wants(t, 200, "Stop", "is writing…", `id="`+writingID(turn)+`"`)
	p.post("/stop", url.Values{"day": {"2026-01-31"}}).wants(t, http.StatusSeeOther)
	f, err := w.store.Flags(w.ctx, p.user.ID, turn.ID)
	w.must(err)
	if !f.Stop {
		t.Error("the turn was not asked to stop")
	}
	w.must(commitFailed(p, turn))
	p.get("/").wants(t, 200, "No answer came to your last message.", "Retry")
	p.post("/retry", url.Values{"day": {"2026-01-31"}}).wants(t, http.StatusSeeOther)
	p.turn()
	p.get("/").lacks(t, "No answer came")
}

func writingID(t *core.Turn) string { return "t" + strings.TrimPrefix(name(core.MessageID(t.ID)), "m") }

// commitFailed gives a turn up, with an apology.
func commitFailed(p *person, t *core.Turn) error {
	_, err := p.store.Commit(p.ctx, core.Reply{Turn: t, State: core.TurnFailed, Now: p.clock.now(), Error: "no model",
		Day: "2026-01-31"}, nil)
	if err != nil {
		return err
	}
	_, err = p.store.Note(p.ctx, core.Note{User: p.user.ID, Now: p.clock.now(),
		Messages: []core.NewMessage{{Role: core.RoleAssistant, Kind: core.KindNotice, Text: "The model is down. /retry",
			SentAt: p.clock.now()}}})
	return err
}

func TestMediaIsOnesOwnAndHarmless(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.ana.signedIn()
	keep := func(name, data string) {
		w.must(os.MkdirAll(filepath.Join(w.media, "1"), 0o700))
		w.must(os.WriteFile(filepath.Join(w.media, "1", name), []byte(data), 0o600))
	}
	keep("cat", "picture")
	keep("page", "<script>alert(1)</script>")
	w.must(os.WriteFile(filepath.Join(w.media, "..", "outside-"+filepath.Base(w.media)), []byte("outside"), 0o600))
	w.must(os.Symlink("/etc/passwd", filepath.Join(w.media, "1", "link")))
	as := []core.Attachment{
		{Kind: "photo", Name: "cat.png", MIME: "image/png", Path: "1/cat"},
		{Kind: "document", Name: "page.html", MIME: "text/html", Path: "1/page"},
		{Kind: "photo", Name: "x.svg", MIME: "image/svg+xml", Path: "1/page"},
		{Kind: "document", Name: "a", Path: "../outside-" + filepath.Base(w.media)},
		{Kind: "document", Name: "b", Path: "/etc/passwd"},
		{Kind: "document", Name: "c", Path: "1/link"},
		{Kind: "document", Name: "d", Path: "1"},
		{Kind: "document", Name: "e", Path: "1/gone"},
		{Kind: "document", Name: "f"},
	}
	p.says("[photo]", func(s *said) { s.files = as })
	png := p.get("/media/1/0")
	png.wants(t, 200, "picture")
	if png.header.Get("Content-Type") != "image/png" ||
		!strings.HasPrefix(png.header.Get("Content-Disposition"), "inline") {
		t.Errorf("got %v", png.header)
	}
	for _, path := range []string{"/media/1/1", "/media/1/2"} {
		a := p.get(path)
		if a.status != 200 || a.header.Get("Content-Type") != "application/octet-stream" ||
			!strings.HasPrefix(a.header.Get("Content-Disposition"), "attachment") ||
			a.header.Get("Content-Security-Policy") != "default-src 'none'; sandbox" ||
			a.header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %d %v", path, a.status, a.header)
		}
	}
	for _, n := range []string{"3", "4", "5", "6", "7", "8", "9", "-1", "0x0", "..%2f..%2fetc%2fpasswd"} {
		a := p.get("/media/1/" + n)
		if a.status == 200 {
			t.Errorf("number %s answered %q", n, short(a.body, 100))
		}
		a.lacks(t, "root:", "outside")
	}
	w.bob.signedIn().get("/media/1/0").wants(t, http.StatusNotFound)
	r := p.request(http.MethodGet, "/media/1/0", nil)
	r.Header.Set("Range", "bytes=0-2")
	p.do(r).wants(t, http.StatusPartialContent, "pic")
	p.post("/m/1/forget", nil)
	p.get("/media/1/0").wants(t, http.StatusNotFound)
}

// TestAMessageIsTakenOnceItIsStored: what could not be stored is said to be so, and
// sent again it is one message.
func TestAMessageIsTakenOnceItIsStored(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.ana.signedIn()
	form := map[string]string{"text": "hold on to this", "nonce": nonce}
	w.gate.fail(errors.New("no disk"))
	p.upload("/messages", form, nil).wants(t, http.StatusInternalServerError, "Nothing of yours is lost")
	w.gate.fail(core.ErrMoving)
	p.upload("/messages", form, nil).wants(t, http.StatusServiceUnavailable, "being joined")
	w.gate.fail(nil)
	p.upload("/messages", form, nil).wants(t, http.StatusSeeOther)
	if n := len(p.get("/").shown()); n != 1 {
		t.Errorf("%d messages", n)
	}
}
