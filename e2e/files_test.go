//go:build e2e

package e2e

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// stored is an attachment as it lies in the store.
type stored struct {
	Kind, Name, MIME, Path, Error, Transcript string
	Size                                      int64
}

// storedOf returns the attachments of a person's messages of a role, in order.
func (l *ledger) storedOf(external, role string) []stored {
	l.t.Helper()
	var out []stored
	for _, extra := range l.lines(`SELECT extra FROM messages WHERE user_id`+ofChat+` AND role = $2 ORDER BY id`, external, role) {
		var e struct{ Files []stored }
		must(l.t, json.Unmarshal([]byte(extra), &e))
		out = append(out, e.Files...)
	}
	return out
}

// userOf returns whose an address is.
func (l *ledger) userOf(external string) string {
	l.t.Helper()
	return fmt.Sprint(l.count(`SELECT user_id FROM identities WHERE external = $1`, external))
}

// journal is what the model was asked so far.
func (w *town) journal() string {
	w.t.Helper()
	resp, err := http.Get(w.model + "/__aimock/journal")
	must(w.t, err)
	defer resp.Body.Close()
	out, err := io.ReadAll(resp.Body)
	must(w.t, err)
	return string(out)
}

// A photo is kept as what it is, whatever the service calls it, stands in the
// transcript, and is seen by a model that sees.
func TestAPhotoIsKeptAndSeenOnEveryChannel(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		s := newStreet(t, database(t))
		s.useModel(startModel(t, 0))
		g := s.open("EVERTHREAD_LLM_VISION=true")
		l := s.ledger()
		for _, d := range s.doors {
			data := append(slices.Clone(picture), d.channel...) // of its own
			d.photo(data, "image/jpeg", "our boat")
			if got := s.hears(d, 1, g)[0].Text; got != "echo: [photo: our boat]" {
				t.Errorf("%s: answered %q", d.channel, got)
			}
			if got := l.transcript(d.external); !slices.Equal(got, []string{"[photo: our boat]"}) {
				t.Errorf("%s: the transcript is %q", d.channel, got)
			}
			a := l.storedOf(d.external, "user")
			if len(a) != 1 || a[0].Kind != "photo" || a[0].MIME != "image/png" || a[0].Error != "" || a[0].Size != int64(len(data)) {
				t.Fatalf("%s: stored %+v", d.channel, a)
			}
			if kept := s.kept()[a[0].Path]; string(kept) != string(data) || filepath.Dir(a[0].Path) != l.userOf(d.external) {
				t.Errorf("%s: %d bytes lie in %s", d.channel, len(kept), a[0].Path)
			}
			if !strings.Contains(s.journal(), "data:image/png;base64,"+base64.StdEncoding.EncodeToString(data)) {
				t.Errorf("%s: the model did not see the picture", d.channel)
			}
		}
		if files := s.kept(); len(files) != len(s.doors) {
			t.Errorf("files are %v", names(files))
		}
	})
}

// What cannot be fetched costs the picture, never the answer.
func TestAFileThatCannotBeKeptCostsNoAnswer(t *testing.T) {
	t.Parallel()
	s := newStreet(t, "")
	g := s.open("EVERTHREAD_MEDIA_MAX_BYTES=1KiB")
	l := s.ledger()
	large := append(slices.Clone(picture), make([]byte, 3000)...)
	for _, d := range s.doors {
		d.photo(large, "image/png", "too large")
		if got := s.hears(d, 1, g)[0].Text; got != "echo: [photo: too large]" {
			t.Errorf("%s: answered %q", d.channel, got)
		}
		l.fetched(g)
		if a := l.storedOf(d.external, "user"); len(a) != 1 || a[0].Path != "" || !strings.Contains(a[0].Error, "larger than 1024 bytes") {
			t.Errorf("%s: stored %+v", d.channel, a)
		}
	}
	forged := s.wa.AddFile(picture, "image/png")
	forged["sha256"] = base64.StdEncoding.EncodeToString(make([]byte, 32))
	s.wa.Write(s.bob, map[string]any{"type": "image", "image": forged})
	s.hears(s.doors[1], 2, g)
	l.fetched(g)
	if a := l.storedOf(s.bob.UserID, "user"); len(a) != 2 || a[1].Path != "" || !strings.Contains(a[1].Error, "not the file that was sent") {
		t.Errorf("stored %+v", a)
	}
	if files := s.kept(); len(files) > 0 {
		t.Errorf("files are %v", names(files))
	}
}

// drawn are the names of the files that the tool draw makes.
const drawn = "plan.txt"

// A picture that a tool made comes after the words of the answer, and so does a
// file; a channel that cannot carry it tells its name.
func TestAPictureOfAToolArrivesOnEveryChannel(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		s := newStreet(t, database(t))
		path := s.shops(t)
		g := s.open()
		g.up()
		l := s.ledger()
		for n, d := range s.doors {
			d.say(`call shop_draw {"item":"` + d.channel + `"}`)
			got := s.hears(d, 3, g)
			if !strings.HasPrefix(got[0].Text, "tool said: a drawing of "+d.channel) || got[0].Data != nil {
				t.Errorf("%s: got %q first", d.channel, got[0].Text)
			}
			if string(got[1].Data) != string(picture) || got[1].MIME != "image/png" {
				t.Errorf("%s: got %+v", d.channel, got[1])
			}
			if string(got[2].Data) != "plan of "+d.channel || !strings.HasPrefix(got[2].MIME, "text/plain") || got[2].Name != drawn {
				t.Errorf("%s: got %+v", d.channel, got[2])
			}
			s.settle(l, g)
			if got := d.got(); len(got) != 3 {
				t.Errorf("%s: got %d things", d.channel, len(got))
			}
			if a := l.storedOf(d.external, "assistant"); len(a) != 2 || filepath.Dir(a[0].Path) != l.userOf(d.external) {
				t.Errorf("%s: stored %+v", d.channel, a)
			}
			if got := calls(t, path); len(got) != n+1 {
				t.Errorf("called %q", got)
			}
		}
	})
}

func TestATerminalTellsWhereThePictureOfAToolLies(t *testing.T) {
	t.Parallel()
	w := newTown(t, "")
	w.shops(t)
	out := w.chat(`call shop_draw {"item":"chairs"}`, "a drawing of chairs")
	for _, want := range []string{"tool said: a drawing of chairs", "[photo ", "[document plan.txt: " + filepath.Join(w.dir, "media")} {
		if !strings.Contains(out, want) {
			t.Errorf("the terminal does not show %q:\n%s", want, out)
		}
	}
	for name, data := range w.kept() {
		if path := filepath.Join(w.dir, "media", name); !strings.Contains(out, path) {
			t.Errorf("the terminal does not show where the %d bytes of %s lie:\n%s", len(data), path, out)
		}
	}
}

// chat has the owner write a line in the terminal until the answer matches, and
// returns what was printed. The tools of a server come a moment after the start.
func (w *town) chat(line, answer string) string {
	w.t.Helper()
	cmd := exec.Command(program, "chat")
	cmd.Dir, cmd.Env = w.dir, append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.dir}, w.env...)
	var out logBuffer
	cmd.Stdout, cmd.Stderr = &out, &out
	in, err := cmd.StdinPipe()
	must(w.t, err)
	must(w.t, cmd.Start())
	deadline := time.Now().Add(20 * time.Second)
	for n := 1; !strings.Contains(out.String(), answer); n++ {
		_, err := io.WriteString(in, line+"\n")
		must(w.t, err)
		for strings.Count(out.String(), "tool said") < n {
			if time.Now().After(deadline) {
				_ = cmd.Process.Kill()
				w.t.Fatalf("the terminal does not show %q\n%s", answer, &out)
			}
			time.Sleep(20 * time.Millisecond) // a process has no event to wait for
		}
	}
	must(w.t, errors.Join(in.Close(), cmd.Wait()))
	return out.String()
}

// A call that was made is not made again, and its files still arrive, each once,
// wherever the process dies.
func TestAPictureOfAToolArrivesOnceAfterAPowerCut(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"model", "committed", "marked", "marked:2"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			engines(t, func(t *testing.T, database func(*testing.T) string) {
				w := newClock(t, database(t))
				path := w.shops(t)
				g := w.start("EVERTHREAD_CRASH_AT=" + step)
				g.up()
				w.write(`call remote_draw {"item":"tables"}`)
				if !g.wait(20 * time.Second) {
					t.Fatalf("it did not crash\n%s", g.log)
				}
				g = w.start()
				l := w.ledger()
				w.settle(l, g)
				w.arrivedOnce(t, g)
				if got := calls(t, path); len(got) != 1 {
					t.Errorf("called %q", got)
				}
				if files := w.kept(); len(files) != 2 {
					t.Errorf("files are %v", names(files))
				}
			})
		})
	}
}

// arrivedOnce checks that Ada got a text, a picture and a file, and each of them
// twice only if the second one says so.
func (w *week) arrivedOnce(t *testing.T, g *gateway) {
	t.Helper()
	var got []string
	for _, m := range w.town.sent(ada, 3) {
		kind := "text"
		if m.File != nil {
			kind = m.File.Kind
		}
		if kind == "photo" && string(m.File.Data) != string(picture) || kind == "document" && string(m.File.Data) != "plan of tables" {
			t.Errorf("got %+v", m.File)
		}
		if !strings.HasSuffix(m.Text, strings.TrimSpace(repeatMark)) {
			got = append(got, kind)
		} else if len(got) == 0 || got[len(got)-1] != kind {
			got = append(got, kind) // the only one that arrived
		}
	}
	if !slices.Equal(got, []string{"text", "photo", "document"}) {
		t.Errorf("got %v\n%s", got, g.log)
	}
}

// Whoever is deleted takes their files along: what they sent and what they were
// sent.
func TestADeletedUserLeavesNoFile(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		s := newStreet(t, database(t))
		s.shops(t)
		g := s.open()
		g.up()
		l := s.ledger()
		for _, d := range s.doors {
			d.photo(picture, "image/png", "mine")
			s.hears(d, 1, g)
			d.say(`call shop_draw {"item":"` + d.channel + `"}`)
			s.hears(d, 4, g)
		}
		s.settle(l, g)
		l.fetched(g)
		if files := s.kept(); len(files) != 3*len(s.doors) {
			t.Fatalf("files are %v", names(files))
		}
		for n, d := range s.doors {
			user := l.userOf(d.external)
			s.mustRun("users", "delete", user, "--yes")
			if _, err := os.Stat(filepath.Join(s.dir, "media", user)); !os.IsNotExist(err) {
				t.Errorf("%s: the folder of user %s: %v", d.channel, user, err)
			}
			if files := s.kept(); len(files) != 3*(len(s.doors)-n-1) {
				t.Errorf("%s: files are %v", d.channel, names(files))
			}
			for _, table := range []string{"jobs", "agent_keys", "messages"} {
				if left := l.count(`SELECT COUNT(*) FROM `+table+` WHERE user_id = $1`, user); left > 0 {
					t.Errorf("%s: %d %s are left", d.channel, left, table)
				}
			}
		}
	})
}
