//go:build e2e

package e2e

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// picture is a PNG of one pixel.
var picture, _ = base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")

func photo(id string) []any {
	return []any{map[string]any{"file_id": "small", "file_unique_id": "s", "width": 1, "height": 1},
		map[string]any{"file_id": id, "file_unique_id": id, "width": 90, "height": 90, "file_size": len(picture)}}
}

// kept lists the files below the media folder, with their contents.
func (w *town) kept() map[string][]byte {
	w.t.Helper()
	out := map[string][]byte{}
	root := filepath.Join(w.dir, "media")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, _ := filepath.Rel(root, path)
		out[name], err = os.ReadFile(path)
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		w.t.Fatal(err)
	}
	return out
}

// fetched waits until no download is left to do.
func (l *ledger) fetched(g *gateway) {
	l.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); l.count(`SELECT COUNT(*) FROM jobs WHERE queue LIKE 'fetch%' AND state <> 'dead'`) > 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			l.t.Fatalf("downloads are left: %v\n%s", l.lines(`SELECT key || ' ' || state || ' ' || error FROM jobs`), g.log)
		}
	}
}

type attachment struct{ Kind, Path, Error string }

// attachments of all messages, in order.
func (l *ledger) attachments() []attachment {
	l.t.Helper()
	var out []attachment
	for _, extra := range l.lines(`SELECT extra FROM messages WHERE role = 'user' ORDER BY id`) {
		var e struct{ Files []attachment }
		must(l.t, json.Unmarshal([]byte(extra), &e))
		out = append(out, e.Files...)
	}
	return out
}

func TestWhatIsNoTextIsStoredWithAPlaceholderAndItsFile(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := newTown(t, database(t))
		for _, id := range []string{"photo", "voice", "doc", "sticker"} {
			w.telegram.AddFile(id, "files/"+id, append([]byte(id+" "), picture...))
		}
		w.telegram.Fail("getFile", 1, failure500) // tried again
		g := w.start()
		var want []string
		for _, c := range []struct {
			fields map[string]any
			text   string
		}{
			{map[string]any{"photo": photo("photo"), "caption": "our boat"}, "[photo: our boat]"},
			{map[string]any{"voice": map[string]any{"file_id": "voice", "file_unique_id": "v", "duration": 12, "mime_type": "audio/ogg"}}, "[voice 0:12]"},
			{map[string]any{"document": map[string]any{"file_id": "doc", "file_unique_id": "d", "file_name": "../../plan.pdf", "mime_type": "application/pdf"}}, "[document ../../plan.pdf]"},
			{map[string]any{"sticker": map[string]any{"file_id": "sticker", "file_unique_id": "t", "type": "regular", "width": 1, "height": 1, "emoji": "🚤"}}, "[sticker 🚤]"},
			{map[string]any{"location": map[string]any{"latitude": 48.85, "longitude": 2.35}}, "[location 48.85000,2.35000]"},
			{map[string]any{"contact": map[string]any{"phone_number": "+33123", "first_name": "Bob"}}, "[contact Bob +33123]"},
		} {
			w.telegram.Write(ada, c.fields)
			want = append(want, c.text)
			w.sent(ada, len(want))
		}
		l := w.ledger()
		w.settle(l, g)
		l.fetched(g)
		w.check(l, ada, want)
		files := w.kept()
		for n, id := range []string{"photo", "voice", "doc", "sticker"} {
			a := l.attachments()[n]
			if a.Error != "" || !bytes.HasPrefix(files[a.Path], []byte(id+" ")) {
				t.Errorf("%s: %+v, files are %v", id, a, names(files))
			}
		}
		if len(files) != 4 {
			t.Errorf("files are %v", names(files))
		}
	})
}

func names(files map[string][]byte) []string {
	var out []string
	for name := range files {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

func TestAFileThatIsTooLargeOrGoneIsToldFrom(t *testing.T) {
	t.Parallel()
	w := newTown(t, "")
	w.telegram.AddFile("large", "files/large", make([]byte, 3000))
	g := w.start("EVERTHREAD_MEDIA_MAX_BYTES=2KiB")
	w.telegram.Write(ada, map[string]any{"photo": photo("large")})
	w.telegram.Write(ada, map[string]any{"photo": photo("gone")})
	l := w.ledger()
	w.settle(l, g)
	l.fetched(g)
	for n, a := range l.attachments() {
		if a.Path != "" || a.Error == "" {
			t.Errorf("file %d: %+v", n, a)
		}
	}
	if files := w.kept(); len(files) > 0 {
		t.Errorf("files are %v", names(files))
	}
}

func TestAnAlbumIsAnsweredOnceAndForgottenPhotosAreGone(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := newTown(t, database(t))
		g := w.start("EVERTHREAD_TURN_DEBOUNCE=700ms") // the default
		var ids []int64
		for _, id := range []string{"a", "b", "c"} {
			w.telegram.AddFile(id, "photos/"+id, picture)
			ids = append(ids, w.telegram.Write(ada, map[string]any{"photo": photo(id), "media_group_id": "album"}))
		}
		w.sent(ada, 1)
		l := w.ledger()
		w.settle(l, g)
		l.fetched(g)
		if got := l.inputs(); !slices.Equal(got, []int{3}) {
			t.Errorf("turns answer %v messages", got)
		}
		if files := w.kept(); len(files) != 3 {
			t.Errorf("files are %v", names(files))
		}
		w.telegram.Write(ada, map[string]any{"text": "/forget", "reply_to_message": map[string]any{"message_id": ids[1], "date": time.Now().Unix(),
			"chat": map[string]any{"id": ada, "type": "private"}, "from": map[string]any{"id": ada, "is_bot": false, "first_name": "Ada"}, "photo": photo("b")}})
		w.sent(ada, 2)
		if got := len(w.kept()); got != 2 {
			t.Errorf("%d files are left of 3: %v\n%q", got, names(w.kept()), texts(w.telegram.Sent(ada)))
		}
		if got := l.count(`SELECT COUNT(*) FROM messages WHERE redacted = 1`); got != 1 {
			t.Errorf("%d messages are redacted", got)
		}
	})
}

func TestAModelThatSeesIsShownThePicture(t *testing.T) {
	t.Parallel()
	for name, sees := range map[string]bool{"vision": true, "no vision": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newTown(t, "")
			w.useModel(startModel(t, 0))
			w.telegram.AddFile("photo", "files/photo.png", picture)
			env := "EVERTHREAD_LLM_VISION=false"
			if sees {
				env = "EVERTHREAD_LLM_VISION=true"
			}
			w.start(env)
			w.telegram.Write(ada, map[string]any{"photo": photo("photo"), "caption": "what is this?"})
			w.sent(ada, 1)
			resp, err := http.Get(w.model + "/__aimock/journal")
			must(t, err)
			defer resp.Body.Close()
			journal, err := io.ReadAll(resp.Body)
			must(t, err)
			if got := strings.Contains(string(journal), base64.StdEncoding.EncodeToString(picture)); got != sees {
				t.Errorf("the picture was sent: %v\n%.3000s", got, journal)
			}
		})
	}
}

// A member's files take so much room together, whatever door they come through; the
// message itself is answered.
func TestAttackFilesOfOnePersonAreBounded(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := newTown(t, database(t))
		for _, id := range []string{"one", "two", "bobs"} {
			w.telegram.AddFile(id, "files/"+id, picture)
		}
		g := w.start(fmt.Sprintf("EVERTHREAD_MEDIA_BYTES_PER_USER=%d", len(picture)+10))
		l := w.ledger()
		for n, from := range []int64{ada, bob, ada} {
			w.telegram.Write(from, map[string]any{"photo": photo([]string{"one", "bobs", "two"}[n]), "caption": fmt.Sprint("boat ", n)})
			w.settle(l, g)
			l.fetched(g)
		}
		all := l.attachments()
		if len(all) != 3 || all[0].Path == "" || all[1].Path == "" {
			t.Fatalf("attachments are %+v", all)
		}
		if all[2].Path != "" || !strings.Contains(all[2].Error, "no room for more files") {
			t.Errorf("the second of one person: %+v", all[2])
		}
		if len(w.kept()) != 2 {
			t.Errorf("files are %v", names(w.kept()))
		}
		w.sent(ada, 2)
		w.sent(bob, 1)
		key, _ := w.apiKey(w.member(), "talk")
		status, body := g.request(http.MethodPost, "/v1/chat/completions", key, map[string]any{"model": "everthread", "messages": []any{map[string]any{"role": "user",
			"content": []any{map[string]any{"type": "image_url", "image_url": map[string]any{"url": "data:image/png;base64," + base64.StdEncoding.EncodeToString(picture)}}}}}})
		if status != http.StatusBadRequest || !strings.Contains(body, "no room for more files") {
			t.Errorf("a program is answered %d %s", status, body)
		}
	})
}
