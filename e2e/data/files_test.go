//go:build e2e

package data

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/e2e/e2etest"
)

// A photo is stored with its real type, whatever the service reports, is in the transcript,
// and is seen by a vision model.
func TestFiles_photoOnEveryChannel(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		s := e2etest.NewStreet(t, database(t))
		s.UseModel(e2etest.StartModel(t, 0))
		g := s.Open("EVERTHREAD_LLM_VISION=true")
		l := s.Ledger()
		for _, d := range s.Doors {
			data := append(slices.Clone(e2etest.Picture), d.Channel...) // different on each channel
			d.Photo(data, "image/jpeg", "our boat")
			if got := s.Hears(d, 1, g)[0].Text; got != "echo: [photo: our boat]" {
				t.Errorf("%s: answered %q", d.Channel, got)
			}
			if got := l.Transcript(d.External); !slices.Equal(got, []string{"[photo: our boat]"}) {
				t.Errorf("%s: the transcript is %q", d.Channel, got)
			}
			a := l.StoredOf(d.External, "user")
			if len(a) != 1 || a[0].Kind != "photo" || a[0].MIME != "image/png" || a[0].Error != "" ||
				a[0].Size != int64(len(data)) {
				t.Fatalf("%s: stored %+v", d.Channel, a)
			}
			if kept := s.Kept()[a[0].Path]; string(kept) != string(data) || filepath.Dir(a[0].Path) != l.UserOf(d.External) {
				t.Errorf("%s: %d bytes lie in %s", d.Channel, len(kept), a[0].Path)
			}
			if !strings.Contains(s.Journal(), "data:image/png;base64,"+base64.StdEncoding.EncodeToString(data)) {
				t.Errorf("%s: the model did not see the picture", d.Channel)
			}
		}
		if files := s.Kept(); len(files) != len(s.Doors) {
			t.Errorf("files are %v", e2etest.Names(files))
		}
	})
}

// A failed download loses the picture, never the answer.
func TestFiles_failedDownloadCostsNoAnswer(t *testing.T) {
	t.Parallel()
	s := e2etest.NewStreet(t, "")
	g := s.Open("EVERTHREAD_MEDIA_MAX_BYTES=1KiB")
	l := s.Ledger()
	large := append(slices.Clone(e2etest.Picture), make([]byte, 3000)...)
	for _, d := range s.Doors {
		d.Photo(large, "image/png", "too large")
		got := s.Hears(d, 1, g)[0].Text
		if !strings.HasPrefix(got, "echo: [photo: too large]\n") || !strings.Contains(got, "too large to be received here") ||
			!strings.Contains(got, "too large for me to receive here.)") { // what the model is told, and the person
			t.Errorf("%s: answered %q", d.Channel, got)
		}
		l.Fetched(g)
		if a := l.StoredOf(d.External, "user"); len(a) != 1 || a[0].Path != "" ||
			!strings.Contains(a[0].Error, "more than 1024 bytes") {
			t.Errorf("%s: stored %+v", d.Channel, a)
		}
	}
	forged := s.Wa.AddFile(e2etest.Picture, "image/png")
	forged["sha256"] = base64.StdEncoding.EncodeToString(make([]byte, 32))
	s.Wa.Write(s.Bob, map[string]any{"type": "image", "image": forged})
	s.Hears(s.Doors[1], 2, g)
	l.Fetched(g)
	if a := l.StoredOf(s.Bob.UserID, "user"); len(a) != 2 || a[1].Path != "" ||
		!strings.Contains(a[1].Error, "not the one that was sent") {
		t.Errorf("stored %+v", a)
	}
	if files := s.Kept(); len(files) > 0 {
		t.Errorf("files are %v", e2etest.Names(files))
	}
}

// A tool's picture follows the text of the answer, and so does a file; a channel without
// files gets its name.
func TestFiles_toolPictureOnEveryChannel(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		s := e2etest.NewStreet(t, database(t))
		path := s.Shops(t)
		g := s.Open()
		g.Up()
		l := s.Ledger()
		for n, d := range s.Doors {
			d.Say(`call shop_draw {"item":"` + d.Channel + `"}`)
			got := s.Hears(d, 3, g)
			if !strings.HasPrefix(got[0].Text, "tool said: a drawing of "+d.Channel) || got[0].Data != nil {
				t.Errorf("%s: got %q first", d.Channel, got[0].Text)
			}
			if string(got[1].Data) != string(e2etest.Picture) || got[1].MIME != "image/png" ||
				!strings.Contains(got[1].Text+got[1].Name, "shop_draw: The shop: draw") {
				t.Errorf("%s: got %+v", d.Channel, got[1])
			}
			if string(got[2].Data) != "plan of "+d.Channel || !strings.HasPrefix(got[2].MIME, "text/plain") ||
				got[2].Name != e2etest.Drawn {
				t.Errorf("%s: got %+v", d.Channel, got[2])
			}
			s.Settle(l, g)
			if got := d.Got(); len(got) != 3 {
				t.Errorf("%s: got %d things", d.Channel, len(got))
			}
			if a := l.StoredOf(d.External, "assistant"); len(a) != 2 || filepath.Dir(a[0].Path) != l.UserOf(d.External) {
				t.Errorf("%s: stored %+v", d.Channel, a)
			}
			if got := e2etest.Calls(t, path); len(got) != n+1 {
				t.Errorf("called %q", got)
			}
		}
	})
}

// An invalid picture of a tool is not shown, and of many only a few are; the model is told
// so.
func TestFiles_invalidPictureIsNotShown(t *testing.T) {
	t.Parallel()
	w := e2etest.NewTown(t, "")
	w.Shops(t)
	g := w.Start("EVERTHREAD_AGENT_MAX_IMAGES=1")
	g.Up()
	w.Telegram.Say(e2etest.Ada, `call shop_draw {"item":"gallery"}`)
	l := w.Ledger()
	w.Sent(e2etest.Ada, 2)
	w.Settle(l, g)
	got := w.Telegram.Sent(e2etest.Ada)
	if len(got) != 2 || got[1].File == nil || got[1].File.Kind != "photo" ||
		got[1].File.MIME != "image/png" || string(got[1].File.Data) != string(e2etest.Picture) {
		t.Fatalf("got %+v\n%s", got, g.Log)
	}
	result := strings.Join(l.Lines(`SELECT body FROM messages WHERE role = 'tool'`), "\n")
	for what, n := range map[string]int{"could not be kept: it is no picture that is shown": 2,
		"is shown to the person with your answer": 1, "an answer has at most 1": 1} {
		if strings.Count(result, what) != n {
			t.Errorf("got tool result %q", result)
		}
	}
	if files := w.Kept(); len(files) != 1 {
		t.Errorf("files are %v", e2etest.Names(files))
	}
}

func TestFiles_terminalTellsWhereTheyLie(t *testing.T) {
	t.Parallel()
	w := e2etest.NewTown(t, "")
	w.Shops(t)
	out := w.Chat(`call shop_draw {"item":"chairs"}`, "a drawing of chairs")
	for _, want := range []string{"tool said: a drawing of chairs", "[photo ",
		"[document plan.txt: " + filepath.Join(w.Dir, "media")} {
		if !strings.Contains(out, want) {
			t.Errorf("the terminal does not show %q:\n%s", want, out)
		}
	}
	for name, data := range w.Kept() {
		if path := filepath.Join(w.Dir, "media", name); !strings.Contains(out, path) {
			t.Errorf("the terminal does not show where the %d bytes of %s lie:\n%s", len(data), path, out)
		}
	}
}

// A completed tool call is not repeated, and its files still arrive, each once, wherever
// the process dies.
func TestFiles_toolPictureOnceAfterPowerCut(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"model", "committed", "marked", "marked:2"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
				w := e2etest.NewClock(t, database(t))
				path := w.Shops(t)
				g := w.Start("EVERTHREAD_CRASH_AT=" + step)
				g.Up()
				w.Write(`call remote_draw {"item":"tables"}`)
				if !g.Wait(20 * time.Second) {
					t.Fatalf("it did not crash\n%s", g.Log)
				}
				g = w.Start()
				l := w.Ledger()
				w.Settle(l, g)
				w.ArrivedOnce(t, g)
				if got := e2etest.Calls(t, path); len(got) != 1 {
					t.Errorf("called %q", got)
				}
				if files := w.Kept(); len(files) != 2 {
					t.Errorf("files are %v", e2etest.Names(files))
				}
			})
		})
	}
}

// The deletion of an account deletes its files, both sent and received.
func TestAccountDeletion_leavesNoFile(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		s := e2etest.NewStreet(t, database(t))
		s.Shops(t)
		g := s.Open()
		g.Up()
		l := s.Ledger()
		for _, d := range s.Doors {
			d.Photo(e2etest.Picture, "image/png", "mine")
			s.Hears(d, 1, g)
			d.Say(`call shop_draw {"item":"` + d.Channel + `"}`)
			s.Hears(d, 4, g)
		}
		s.Settle(l, g)
		l.Fetched(g)
		if files := s.Kept(); len(files) != 3*len(s.Doors) {
			t.Fatalf("files are %v", e2etest.Names(files))
		}
		for n, d := range s.Doors {
			user := l.UserOf(d.External)
			s.MustRun("users", "delete", user, "--yes")
			if _, err := os.Stat(filepath.Join(s.Dir, "media", user)); !os.IsNotExist(err) {
				t.Errorf("%s: the folder of user %s: %v", d.Channel, user, err)
			}
			if files := s.Kept(); len(files) != 3*(len(s.Doors)-n-1) {
				t.Errorf("%s: files are %v", d.Channel, e2etest.Names(files))
			}
			for _, table := range []string{"jobs", "agent_keys", "messages"} {
				if left := l.Count(`SELECT COUNT(*) FROM `+table+` WHERE user_id = $1`, user); left > 0 {
					t.Errorf("%s: %d %s are left", d.Channel, left, table)
				}
			}
		}
	})
}
