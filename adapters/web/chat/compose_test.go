package chat

import (
	"bytes"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/adapters/web"
	"github.com/everthread/everthread/adapters/web/webtest"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
)

const nonce = "aaaabbbbccccddddeeee"

func TestCompose_withoutAScript(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.Ana.SignedIn()
	a := p.Upload("/messages", map[string]string{"text": "hello\r\nthere", "nonce": nonce, "day": "2026-01-31",
		"thread": ""}, map[string]string{"": ""})
	a.Wants(t, http.StatusSeeOther)
	if got := a.Header.Get("Location"); got != "/" {
		t.Errorf("led to %s", got)
	}
	p.Get("/").Wants(t, 200, "hello<br", "there", "Web")
	in := w.Taken()[0]
	if in.Text != "hello\nthere" || in.Address != p.Door.Address || in.Thread != 0 || in.Kind != core.InMessage ||
		!in.SentAt.Equal(w.Clock.Now()) {
		t.Errorf("got %+v", in)
	}
}

func TestCompose_formSentTwiceIsOneMessage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.Ana.SignedIn()
	form := map[string]string{"text": "once", "nonce": nonce}
	for range 3 {
		p.Upload("/messages", form, map[string]string{"a.txt": "x"}).Wants(t, http.StatusSeeOther)
	}
	if n := len(p.Get("/").Shown()); n != 1 || w.Gate.Kept != 1 {
		t.Errorf("%d messages, %d files", n, w.Gate.Kept)
	}
	w.Bob.SignedIn().Upload("/messages", map[string]string{"text": "bob's", "nonce": nonce}, nil).Wants(t,
		http.StatusSeeOther)
	w.Bob.Get("/").Wants(t, 200, "bob&#39;s")
	body := p.Get("/").Body
	again := p.Get("/").Body
	if webtest.NonceOf(t, body) == webtest.NonceOf(t, again) {
		t.Error("two forms have one nonce")
	}
}

func TestCompose_files(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.Ana.SignedIn()
	p.Upload("/messages", map[string]string{"text": "see these", "nonce": nonce},
		map[string]string{`..\..\etc/pass"wd[1]: x.txt`: "root"}).Wants(t, http.StatusSeeOther)
	in := w.Taken()[0]
	if len(in.Attachments) != 1 || in.Attachments[0].Name != "passwd_1__ x.txt" &&
		in.Attachments[0].Name != `pass"wd_1__ x.txt` {
		t.Fatalf("got %+v", in.Attachments)
	}
	if !strings.HasPrefix(in.Text, "see these\n[document ") {
		t.Errorf("the text is %q", in.Text)
	}
	a := p.Get("/")
	a.Wants(t, 200, "see these", "/media/1/0")
	a.Lacks(t, "[document")
	got := p.Get("/media/1/0")
	got.Wants(t, 200, "root")
	if d := got.Header.Get("Content-Disposition"); !strings.HasPrefix(d, "attachment") || strings.Contains(d, "/") {
		t.Errorf("disposition %q", d)
	}
}

func TestCompose_refusesTooMuch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.Ana.SignedIn()
	form := map[string]string{"text": "x", "nonce": nonce}
	p.Upload("/messages", form, map[string]string{"a": strings.Repeat("x", 1<<20+1)}).Wants(t,
		http.StatusRequestEntityTooLarge, "at most 1.0\u00a0MB fit")
	p.Upload("/messages", form, map[string]string{"a": strings.Repeat("x", 600<<10),
		"b": strings.Repeat("x", 600<<10)}).Wants(t, http.StatusRequestEntityTooLarge, "at most 1.0\u00a0MB fit")
	many := map[string]string{}
	for n := range maxFiles + 1 {
		many[string(rune('a'+n))] = "x"
	}
	p.Upload("/messages", form, many).Wants(t, http.StatusRequestEntityTooLarge, "Too many files: at most 10")
	p.Upload("/messages", form, map[string]string{"no-room": "x"}).Wants(t, http.StatusRequestEntityTooLarge,
		"no room for more of your files")
	if len(w.Taken()) > 0 {
		t.Error("a message was accepted")
	}
	p.Get("/").Wants(t, 200, `data-size="1048576"`, "Up to 10 files, 1.0\u00a0MB in total")
}

// A text of any length arrives whole: in the message, or as a text file beside its first line.
func TestCompose_longTextArrivesWhole(t *testing.T) {
	t.Parallel()
	long := func(begin string, n int) string { return begin + strings.Repeat("word ", n/5) + "THE-END." }
	for name, one := range map[string]struct{ text, stays string }{
		"as long as a message can be":  {strings.Repeat("x", maxText), strings.Repeat("x", maxText)},
		"one byte more":                {strings.Repeat("x", maxText+1), strings.Repeat("x", opening) + "…"},
		"200,000 characters":           {long("Read this:\n", 200_000), "Read this:…"},
		"Hebrew, two bytes a letter":   {strings.Repeat("של", 40_000), strings.Repeat("של", opening/4) + "…"},
		"a command of 150,000 letters": {long("/remember ", 150_000), ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			p := w.Ana.SignedIn()
			p.Upload("/messages", map[string]string{"text": one.text, "nonce": nonce},
				map[string]string{"a.txt": "x"}).Wants(t, http.StatusSeeOther)
			in := w.Taken()[0]
			if !strings.HasPrefix(in.Text, one.stays+"\n[document a.txt]") && one.stays+in.Text[:14] != "[document a.tx" {
				t.Errorf("the message is %.400q", in.Text)
			}
			if one.text == one.stays {
				return
			}
			p.Get("/").Wants(t, 200, "long-text.txt")
			if got := p.Get("/media/1/1"); got.Body != one.text {
				t.Errorf("the file has %d bytes of %d", len(got.Body), len(one.text))
			}
		})
	}
}

// No page cuts off what a person types: each limit is an error with a number, and the message is not stored.
func TestCompose_namesItsLimit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.Ana.SignedIn()
	p.Upload("/messages", map[string]string{"text": "hello", "nonce": nonce}, nil)
	p.Get("/search?q="+strings.Repeat("é", 501)).Wants(t, http.StatusUnprocessableEntity, "at most 500 characters")
	p.Get("/search?q="+strings.Repeat("é", 500)).Wants(t, 200, "Nothing found")
	p.Post("/threads", url.Values{"title": {strings.Repeat("é", 201)}}).Wants(t, 400, "200 characters")
	p.Post("/m/1/edit", url.Values{"text": {strings.Repeat("é", maxText/2+1)}}).Wants(t,
		http.StatusRequestEntityTooLarge, "at most 100\u00a0KB")
	p.Post("/m/1/remember", url.Values{"text": {strings.Repeat("é", 2001)}, "type": {"fact"}}).Wants(t,
		http.StatusUnprocessableEntity, "at most 2,000 characters")
	p.Upload("/messages", map[string]string{"text": strings.Repeat("x", 1<<20+1), "nonce": nonce + "2"}, nil).Wants(t,
		http.StatusRequestEntityTooLarge, "at most 1.0\u00a0MB fit")
	if n := len(w.Taken()); n != 1 {
		t.Errorf("%d messages were received", n)
	}
}

// A search of the conversation says that memory has something, and leads there.
func TestSearch_namesMemory(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.Ana.SignedIn()
	p.Keeps("", core.ItemFact, "Lives in Lyon")
	p.Keeps("", core.ItemFact, "Was born in Lyon")
	w.Bob.Keeps("", core.ItemFact, "Works in Nantes")
	p.Get("/search?q=Lyon").Wants(t, 200, "Nothing found", `href="/memory?q=Lyon">Memory has 2 entries with this</a>`)
	for _, path := range []string{"/search", "/search?q=Nantes", "/search?q=Lyon&who=me"} {
		p.Get(path).Lacks(t, "Memory has")
	}
}

// A message of the person's of many screens is folded, without a script too; an answer is not.
func TestMessages_longIsFolded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.Ana.SignedIn()
	text := strings.Repeat("word ", 2000) + "needle"
	p.Upload("/messages", map[string]string{"text": text, "nonce": nonce}, nil)
	p.Get("/").Wants(t, 200, `<div class="long"><div class="prose" dir="auto">`, "needle", "Show all")
	p.Answers(text)
	if got := p.Get("/"); strings.Count(got.Body, `class="long"`) != 1 {
		t.Error("an answer is folded")
	}
	p.Get("/search?q=needle").Wants(t, 200, `href="/m/1?find=needle"`)
	if to := p.Get("/m/1?find=needle").Header.Get("Location"); to != "/day/2026-01-31?at=1&find=needle#m1" {
		t.Errorf("it leads to %s", to)
	}
}

func TestCompose_scriptGetsData(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.Ana.SignedIn()
	post := func(form url.Values) (int, map[string]string) {
		r := p.Request(http.MethodPost, "/messages", strings.NewReader(form.Encode()))
		r.Header.Set("Accept", "application/json")
		a := p.Do(r)
		var out map[string]string
		webtest.Decode(t, a.Body, &out)
		return a.Status, out
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
	p.Post("/signout", nil)
	if status, out := post(url.Values{"text": {"x"}, "nonce": {nonce}}); status != 401 || out["error"] == "" {
		t.Errorf("got %d %v", status, out)
	}
}

func TestThreads_byModelName(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.Ana.SignedIn()
	p.Get("/threads").Wants(t, 200, "No threads yet")
	a := p.Post("/threads", url.Values{"title": {"  Recipes \n for  May "}})
	a.Wants(t, http.StatusSeeOther)
	at := a.Header.Get("Location")
	p.Get(at).Wants(t, 200, "Recipes for May", "Nothing said here yet", "Send")
	id := strings.TrimPrefix(at, "/threads/")
	p.Upload("/messages", map[string]string{"text": "soup", "nonce": nonce, "thread": id}, nil).Wants(t,
		http.StatusSeeOther)
	p.Get(at).Wants(t, 200, "soup")
	p.Get("/").Lacks(t, "soup")
	p.Get("/threads").Wants(t, 200, "Recipes for May", at)
	p.Upload("/messages", map[string]string{"text": "and here", "nonce": nonce + "2"}, nil)
	p.Get("/").Wants(t, 200, "and here")
	if got := p.Get("/m/1").Header.Get("Location"); got != at+"?at=1#m1" {
		t.Errorf("a reference leads to %s", got)
	}
	for n := range 120 {
		p.Says("note", func(s *webtest.Said) { s.Thread = w.Taken()[0].Thread; s.At = p.Door })
		_ = n
	}
	long := p.Get(at)
	long.Wants(t, 200, at+"?before=73")
	if n := len(long.Shown()); n != 50 {
		t.Errorf("%d entries", n)
	}
	p.Get(at+"?before=23").Wants(t, 200, "soup")
	p.Get(at+"?at=60").Wants(t, 200, `id="m60"`, `id="m59"`, `id="m61"`)
	p.Get(at).Wants(t, 200, at+"/edit")
	p.Get(at+"/edit").Wants(t, 200, `value="Recipes for May"`, "Delete this thread")
	p.Post(at+"/edit", url.Values{"title": {" "}}).Wants(t, 400, "Give the thread a title first.")
	p.Post(at+"/edit", url.Values{"title": {"Recipes for June"}}).Wants(t, http.StatusSeeOther)
	p.Get(at).Wants(t, 200, "Recipes for June")
	p.Post("/threads/1/forget", nil).Wants(t, 404)
	p.Post(at+"/forget", nil).Wants(t, http.StatusSeeOther)
	p.Get("/threads").Wants(t, 200, "No threads yet", "Forgotten.")
	p.Get(at).Wants(t, 404)
	p.Get(at+"/edit").Wants(t, 404)
	p.Post(at+"/edit", url.Values{"title": {"again"}}).Wants(t, 404)
}

func TestThreads_continuousIgnoresTheDoor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.Ana.SignedIn()
	_, err := w.Gate.Act(w.Context, p.User.ID, effect.OpenThread{Identity: p.Door.ID, Title: "Elsewhere", At: w.Clock.Now()})
	w.Must(err)
	p.Upload("/messages", map[string]string{"text": "to the continuous one", "nonce": nonce}, nil)
	p.Get("/").Wants(t, 200, "to the continuous one")
}

func TestTurn_stopAndRetry(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.Ana.SignedIn()
	p.Says("hello")
	turn := p.Turn()
	p.Get("/").Wants(t, 200, "Stop", "is writing…", `id="`+writingID(turn)+`"`)
	p.Post("/stop", url.Values{"day": {"2026-01-31"}}).Wants(t, http.StatusSeeOther)
	f, err := w.Store.Flags(w.Context, p.User.ID, turn.ID)
	w.Must(err)
	if !f.Stop {
		t.Error("the turn was not asked to stop")
	}
	w.Must(commitFailed(p, turn))
	p.Get("/").Wants(t, 200, "Your last message was not answered.", "Retry")
	p.Post("/retry", url.Values{"day": {"2026-01-31"}}).Wants(t, http.StatusSeeOther)
	p.Turn()
	p.Get("/").Lacks(t, "Your last message was not answered")
}

func writingID(t *core.Turn) string {
	return "t" + strings.TrimPrefix(webtest.Name(core.MessageID(t.ID)), "m")
}

// commitFailed makes a turn give up, with an apology.
func commitFailed(p *webtest.Person, t *core.Turn) error {
	_, err := p.Store.Commit(p.Context, store.Reply{Turn: t, State: core.TurnFailed, Now: p.Clock.Now(), Error: "no model",
		Day: "2026-01-31"}, nil)
	if err != nil {
		return err
	}
	_, err = p.Store.Note(p.Context, store.Note{User: p.User.ID, Now: p.Clock.Now(),
		Messages: []core.NewMessage{{Role: core.RoleAssistant, Kind: core.KindNotice, Text: "The model is down. /retry",
			SentAt: p.Clock.Now()}}})
	return err
}

func TestMedia_ownAndHarmless(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.Ana.SignedIn()
	keep := func(name, data string) {
		w.Must(os.MkdirAll(filepath.Join(w.Media, "1"), 0o700))
		w.Must(os.WriteFile(filepath.Join(w.Media, "1", name), []byte(data), 0o600))
	}
	keep("cat", "picture")
	keep("page", "<script>alert(1)</script>")
	w.Must(os.WriteFile(filepath.Join(w.Media, "..", "outside-"+filepath.Base(w.Media)), []byte("outside"), 0o600))
	w.Must(os.Symlink("/etc/passwd", filepath.Join(w.Media, "1", "link")))
	as := []core.Attachment{
		{Kind: "photo", Name: "cat.png", MIME: "image/png", Path: "1/cat"},
		{Kind: "document", Name: "page.html", MIME: "text/html", Path: "1/page"},
		{Kind: "photo", Name: "x.svg", MIME: "image/svg+xml", Path: "1/page"},
		{Kind: "document", Name: "a", Path: "../outside-" + filepath.Base(w.Media)},
		{Kind: "document", Name: "b", Path: "/etc/passwd"},
		{Kind: "document", Name: "c", Path: "1/link"},
		{Kind: "document", Name: "d", Path: "1"},
		{Kind: "document", Name: "e", Path: "1/gone"},
		{Kind: "document", Name: "f"},
	}
	p.Says("[photo]", func(s *webtest.Said) { s.Files = as })
	png := p.Get("/media/1/0")
	png.Wants(t, 200, "picture")
	if png.Header.Get("Content-Type") != "image/png" ||
		!strings.HasPrefix(png.Header.Get("Content-Disposition"), "inline") {
		t.Errorf("got %v", png.Header)
	}
	for _, path := range []string{"/media/1/1", "/media/1/2"} {
		a := p.Get(path)
		if a.Status != 200 || a.Header.Get("Content-Type") != "application/octet-stream" ||
			!strings.HasPrefix(a.Header.Get("Content-Disposition"), "attachment") ||
			a.Header.Get("Content-Security-Policy") != "default-src 'none'; sandbox" ||
			a.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %d %v", path, a.Status, a.Header)
		}
	}
	for _, n := range []string{"3", "4", "5", "6", "7", "8", "9", "-1", "0x0", "..%2f..%2fetc%2fpasswd"} {
		a := p.Get("/media/1/" + n)
		if a.Status == 200 {
			t.Errorf("number %s answered %q", n, web.Short(a.Body, 100))
		}
		a.Lacks(t, "root:", "outside")
	}
	w.Bob.SignedIn().Get("/media/1/0").Wants(t, http.StatusNotFound)
	r := p.Request(http.MethodGet, "/media/1/0", nil)
	r.Header.Set("Range", "bytes=0-2")
	p.Do(r).Wants(t, http.StatusPartialContent, "pic")
	p.Post("/m/1/forget", nil)
	p.Get("/media/1/0").Wants(t, http.StatusNotFound)
}

// TestCompose_takenOnceStored checks that a message that could not be stored is reported as
// such, and is stored once when it is sent again.
func TestCompose_takenOnceStored(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.Ana.SignedIn()
	form := map[string]string{"text": "hold on to this", "nonce": nonce}
	w.Gate.Fail(errors.New("no disk"))
	p.Upload("/messages", form, nil).Wants(t, http.StatusInternalServerError, "You have lost nothing")
	w.Gate.Fail(nil)
	p.Upload("/messages", form, nil).Wants(t, http.StatusSeeOther)
	if n := len(p.Get("/").Shown()); n != 1 {
		t.Errorf("%d messages", n)
	}
}

func TestCompose_voiceNote(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.Ana.SignedIn()
	send := func(kind, data string) webtest.Answer {
		var b bytes.Buffer
		m := multipart.NewWriter(&b)
		w.Must(m.WriteField("nonce", nonce))
		w.Must(m.WriteField("seconds", "65"))
		f, err := m.CreatePart(textproto.MIMEHeader{"Content-Disposition": {`form-data; name="voice"; filename="voice.webm"`},
			"Content-Type": {kind}})
		w.Must(err)
		_, err = io.WriteString(f, data)
		w.Must(err)
		w.Must(m.Close())
		r := p.Request(http.MethodPost, "/messages", &b)
		r.Header.Set("Content-Type", m.FormDataContentType())
		return p.Do(r)
	}
	send("text/html", "<script>").Wants(t, http.StatusBadRequest)
	send("audio/webm", "").Wants(t, http.StatusBadRequest)
	send("audio/webm;codecs=opus", "recorded").Wants(t, http.StatusSeeOther)
	in := w.Taken()
	if len(in) != 1 || in[0].Text != "[voice 1:05]" || in[0].Attachments[0].Kind != "voice" ||
		in[0].Attachments[0].MIME != "audio/webm" || in[0].Attachments[0].Duration != 65*time.Second {
		t.Fatalf("got %+v", in)
	}
	p.Get("/").Wants(t, http.StatusOK, `<audio controls`)
}
