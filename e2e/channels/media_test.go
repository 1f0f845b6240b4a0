//go:build e2e

package channels

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/e2e/e2etest"
)

func TestMedia_storedWithPlaceholderAndFile(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewTown(t, database(t))
		for _, id := range []string{"photo", "voice", "doc", "sticker"} {
			w.Telegram.AddFile(id, "files/"+id, append([]byte(id+" "), e2etest.Picture...))
		}
		w.Telegram.Fail("getFile", 1, e2etest.Failure500) // tried again
		g := w.Start()
		var want []string
		for _, c := range []struct {
			fields map[string]any
			text   string
		}{
			{map[string]any{"photo": e2etest.Photo("photo"), "caption": "our boat"}, "[photo: our boat]"},
			{map[string]any{"voice": map[string]any{"file_id": "voice", "file_unique_id": "v", "duration": 12,
				"mime_type": "audio/ogg"}}, "[voice 0:12]"},
			{map[string]any{"document": map[string]any{"file_id": "doc", "file_unique_id": "d", "file_name": "../../plan.pdf",
				"mime_type": "application/pdf"}}, "[document ../../plan.pdf]"},
			{map[string]any{"sticker": map[string]any{"file_id": "sticker", "file_unique_id": "t", "type": "regular", "width": 1,
				"height": 1, "emoji": "🚤"}}, "[sticker 🚤]"},
			{map[string]any{"location": map[string]any{"latitude": 48.85, "longitude": 2.35}}, "[location 48.85000,2.35000]"},
			{map[string]any{"contact": map[string]any{"phone_number": "+33123", "first_name": "Bob"}}, "[contact Bob +33123]"},
		} {
			w.Telegram.Write(e2etest.Ada, c.fields)
			want = append(want, c.text)
			w.Sent(e2etest.Ada, len(want))
		}
		l := w.Ledger()
		w.Settle(l, g)
		l.Fetched(g)
		w.Check(l, e2etest.Ada, want)
		files := w.Kept()
		for n, id := range []string{"photo", "voice", "doc", "sticker"} {
			a := l.Attachments()[n]
			if a.Error != "" || !bytes.HasPrefix(files[a.Path], []byte(id+" ")) {
				t.Errorf("%s: %+v, files are %v", id, a, e2etest.Names(files))
			}
		}
		if len(files) != 4 {
			t.Errorf("files are %v", e2etest.Names(files))
		}
	})
}

func TestMedia_tooLargeOrGoneIsTold(t *testing.T) {
	t.Parallel()
	w := e2etest.NewTown(t, "")
	w.Telegram.AddFile("large", "files/large", make([]byte, 3000))
	g := w.Start("EVERTHREAD_MEDIA_MAX_BYTES=2KiB")
	w.Telegram.Write(e2etest.Ada, map[string]any{"photo": e2etest.Photo("large")})
	w.Telegram.Write(e2etest.Ada, map[string]any{"photo": e2etest.Photo("gone")})
	l := w.Ledger()
	w.Settle(l, g)
	l.Fetched(g)
	for n, a := range l.Attachments() {
		if want := []core.FileProblem{core.FileLarge, core.FileGone}[n]; a.Path != "" || a.Error == "" || a.Problem != want {
			t.Errorf("file %d: %+v, want the problem %s", n, a, want)
		}
	}
	told := ""
	for _, m := range w.Telegram.Sent(e2etest.Ada) {
		told += m.Text
	}
	for _, why := range []string{"too large for me to receive", "the service didn't hand it over"} {
		if !strings.Contains(told, why) {
			t.Errorf("the person is told %q, want %q", told, why)
		}
	}
	if files := w.Kept(); len(files) > 0 {
		t.Errorf("files are %v", e2etest.Names(files))
	}
}

func TestMedia_albumIsAnsweredOnce(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewTown(t, database(t))
		g := w.Start("EVERTHREAD_TURN_DEBOUNCE=700ms") // the default
		var ids []int64
		for _, id := range []string{"a", "b", "c"} {
			w.Telegram.AddFile(id, "photos/"+id, e2etest.Picture)
			ids = append(ids, w.Telegram.Write(e2etest.Ada, map[string]any{"photo": e2etest.Photo(id),
				"media_group_id": "album"}))
		}
		w.Sent(e2etest.Ada, 1)
		l := w.Ledger()
		w.Settle(l, g)
		l.Fetched(g)
		if got := l.Inputs(); !slices.Equal(got, []int{3}) {
			t.Errorf("got turns with %v messages", got)
		}
		if files := w.Kept(); len(files) != 3 {
			t.Errorf("files are %v", e2etest.Names(files))
		}
		forgetPhoto(w, ids[1], "b")
		w.Sent(e2etest.Ada, 2)
		l.Fetched(g)
		if got := len(w.Kept()); got != 2 {
			t.Errorf("%d files are left of 3: %v\n%q", got, e2etest.Names(w.Kept()), e2etest.Texts(w.Telegram.Sent(e2etest.Ada)))
		}
		if got := l.Count(`SELECT COUNT(*) FROM messages WHERE redacted = 1`); got != 1 {
			t.Errorf("%d messages are redacted", got)
		}
	})
}

// forgetPhoto replies /forget to a photo.
func forgetPhoto(w *e2etest.Town, id int64, photo string) {
	w.Telegram.Write(e2etest.Ada, map[string]any{"text": "/forget",
		"reply_to_message": map[string]any{"message_id": id, "date": time.Now().Unix(),
			"chat": map[string]any{"id": e2etest.Ada, "type": "private"}, "from": map[string]any{"id": e2etest.Ada,
				"is_bot": false, "first_name": "Ada"}, "photo": e2etest.Photo(photo)}})
}

func TestMedia_forgottenPhotoIsRemovedThroughKills(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewTown(t, database(t))
		g := w.Start("EVERTHREAD_CRASH_AT=removing", "EVERTHREAD_TURN_LEASE=3s")
		w.Telegram.AddFile("a", "photos/a", e2etest.Picture)
		id := w.Telegram.Write(e2etest.Ada, map[string]any{"photo": e2etest.Photo("a")})
		w.Sent(e2etest.Ada, 1)
		l := w.Ledger()
		w.Settle(l, g)
		l.Fetched(g)
		forgetPhoto(w, id, "a")
		if !g.Wait(20 * time.Second) {
			t.Fatalf("it did not crash\n%s", g.Log)
		}
		if got := len(w.Kept()); got != 1 {
			t.Fatalf("%d files before the restart, want 1", got)
		}
		g = w.Start()
		l.Fetched(g)
		if files := w.Kept(); len(files) > 0 {
			t.Errorf("files are %v", e2etest.Names(files))
		}
	})
}

func TestPictures_areShownToAVisionModel(t *testing.T) {
	t.Parallel()
	for name, sees := range map[string]bool{"vision": true, "no vision": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := e2etest.NewTown(t, "")
			w.UseModel(e2etest.StartModel(t, 0))
			w.Telegram.AddFile("photo", "files/photo.png", e2etest.Picture)
			env := "EVERTHREAD_LLM_VISION=false"
			if sees {
				env = "EVERTHREAD_LLM_VISION=true"
			}
			w.Start(env)
			w.Telegram.Write(e2etest.Ada, map[string]any{"photo": e2etest.Photo("photo"), "caption": "what is this?"})
			w.Sent(e2etest.Ada, 1)
			if got := sights(t, w) > 0; got != sees {
				t.Errorf("the picture was sent: %v", got)
			}
		})
	}
}

// sights returns how many requests to the model held the picture.
func sights(t *testing.T, w *e2etest.Town) int {
	t.Helper()
	resp, err := http.Get(w.Model + "/__aimock/journal")
	e2etest.Must(t, err)
	defer resp.Body.Close()
	journal, err := io.ReadAll(resp.Body)
	e2etest.Must(t, err)
	return strings.Count(string(journal), base64.StdEncoding.EncodeToString(e2etest.Picture))
}

func TestPictures_replyShowsThemAgain(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewTown(t, database(t))
		w.UseModel(e2etest.StartModel(t, 0))
		w.Telegram.AddFile("photo", "files/photo.png", e2etest.Picture)
		w.Start("EVERTHREAD_LLM_VISION=true")
		photo := map[string]any{"photo": e2etest.Photo("photo")}
		id := w.Telegram.Write(e2etest.Ada, photo)
		w.Sent(e2etest.Ada, 1)
		w.Telegram.Write(e2etest.Ada, map[string]any{"text": "something else"})
		w.Sent(e2etest.Ada, 2)
		if n := sights(t, w); n != 1 {
			t.Errorf("%d requests hold the picture before the reply, want 1", n)
		}
		photo["message_id"], photo["date"] = id, time.Now().Unix()
		photo["chat"] = map[string]any{"id": e2etest.Ada, "type": "private"}
		photo["from"] = map[string]any{"id": e2etest.Ada, "is_bot": false, "first_name": "Ada"}
		w.Telegram.Write(e2etest.Ada, map[string]any{"text": "what is in this?", "reply_to_message": photo})
		w.Sent(e2etest.Ada, 3)
		if n := sights(t, w); n != 2 {
			t.Errorf("%d requests hold the picture after the reply, want 2", n)
		}
	})
}

// A member's files share a limit across all channels; the message itself is answered.
func TestAttack_filesOfOnePersonAreBounded(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewTown(t, database(t))
		for _, id := range []string{"one", "two", "bobs"} {
			w.Telegram.AddFile(id, "files/"+id, e2etest.Picture)
		}
		g := w.Start(fmt.Sprintf("EVERTHREAD_MEDIA_BYTES_PER_USER=%d", len(e2etest.Picture)+10))
		l := w.Ledger()
		for n, from := range []int64{e2etest.Ada, e2etest.Bob, e2etest.Ada} {
			w.Telegram.Write(from, map[string]any{"photo": e2etest.Photo([]string{"one", "bobs", "two"}[n]),
				"caption": fmt.Sprint("boat ", n)})
			w.Settle(l, g)
			l.Fetched(g)
		}
		all := l.Attachments()
		if len(all) != 3 || all[0].Path == "" || all[1].Path == "" {
			t.Fatalf("attachments are %+v", all)
		}
		if all[2].Path != "" || !strings.Contains(all[2].Error, "no room for more files") {
			t.Errorf("the second of one person: %+v", all[2])
		}
		if len(w.Kept()) != 2 {
			t.Errorf("files are %v", e2etest.Names(w.Kept()))
		}
		w.Sent(e2etest.Ada, 2)
		w.Sent(e2etest.Bob, 1)
		key, _ := w.APIKey(w.Member(), "talk")
		status, body := g.Request(http.MethodPost, "/v1/chat/completions", key,
			map[string]any{"model": "everthread", "messages": []any{map[string]any{"role": "user",
				"content": []any{map[string]any{"type": "image_url",
					"image_url": map[string]any{"url": "data:image/png;base64," +
						base64.StdEncoding.EncodeToString(e2etest.Picture)}}}}}})
		if status != http.StatusBadRequest || !strings.Contains(body, "no room for more files") {
			t.Errorf("a program is answered %d %s", status, body)
		}
	})
}
