//go:build e2e

package channels

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/e2e/e2etest"
)

// recording is a voice note.
func recording(words string) []byte { return []byte(e2etest.OggHead + words) }

// The words of a voice note are in the transcript and the prompt, and can be found.
func TestVoice_transcribedOnEveryChannel(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		s := e2etest.NewStreet(t, database(t))
		scribe := e2etest.NewScribe(t)
		s.HearsWith(scribe)
		g := s.Open()
		l := s.Ledger()
		for _, d := range s.Doors {
			words := "The marmalade is for " + d.Channel
			d.Voice(recording(words))
			want := "[" + d.Label() + ": " + words + "]"
			if got := s.Hears(d, 1, g)[0].Text; got != "echo: "+want {
				t.Errorf("%s: answered %q, want %q", d.Channel, got, want)
			}
			if got := l.Transcript(d.External); !slices.Equal(got, []string{want}) {
				t.Errorf("%s: the transcript is %q", d.Channel, got)
			}
			a := l.StoredOf(d.External, "user")
			if len(a) != 1 || a[0].Kind != "voice" || a[0].Transcript != words || a[0].Error != "" ||
				!bytes.Equal(s.Kept()[a[0].Path], recording(words)) {
				t.Errorf("%s: stored %+v", d.Channel, a)
			}
			l.Until(`SELECT COUNT(*) FROM users WHERE id > 0 AND indexed < last_message`, 0, g)
			if got := s.MustRun("search", "marmalade", "--user", l.UserOf(d.External)); !strings.Contains(got, words) {
				t.Errorf("%s: search shows %q", d.Channel, got)
			}
		}
		for _, name := range scribe.Names() {
			if !strings.HasSuffix(name, ".ogg") {
				t.Errorf("a recording was sent as %q", name)
			}
		}
	})
}

// A transcription service that fails costs the words of the recording, never the answer,
// which waits only for the configured time. Words that arrive later are still
// stored.
func TestTranscription_failureCostsNoAnswer(t *testing.T) {
	t.Parallel()
	const wait = 3 * time.Second
	for name, c := range map[string]struct {
		status  int
		hangs   bool
		atLeast time.Duration
		later   bool // the words come once the service works
	}{
		"down":      {status: http.StatusBadGateway, atLeast: wait, later: true},
		"hangs":     {hangs: true, atLeast: wait, later: true},
		"wrong key": {status: http.StatusUnauthorized, atLeast: wait, later: true},
		"refuses":   {status: http.StatusBadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := e2etest.NewTown(t, "")
			scribe := e2etest.NewScribe(t)
			scribe.Set(c.status, c.hangs)
			w.HearsWith(scribe)
			g := w.Start("EVERTHREAD_LLM_VISION=true", "EVERTHREAD_TRANSCRIPTION_TIMEOUT=2s",
				fmt.Sprint("EVERTHREAD_MEDIA_WAIT=", wait))
			w.Telegram.AddFile("note", "files/note", recording("buy marmalade"))
			begin := time.Now()
			w.Telegram.Write(e2etest.Ada, map[string]any{"voice": map[string]any{"file_id": "note", "file_unique_id": "n",
				"duration": 7, "mime_type": "audio/ogg"}})
			want, told := "[voice 0:07: not written down, that failed]", "turning it into text failed"
			if c.later {
				want, told = "[voice 0:07]", "it hasn't arrived yet"
			}
			if got := w.Sent(e2etest.Ada, 1)[0].Text; !strings.HasPrefix(got, "echo: "+want) || !strings.Contains(got, told) {
				t.Errorf("answered %q, want %q and %q", got, want, told)
			}
			if took := time.Since(begin); took < c.atLeast || took > c.atLeast+2500*time.Millisecond {
				t.Errorf("answered after %s", took)
			}
			scribe.Set(0, false)
			l := w.Ledger()
			l.Fetched(g)
			if c.later {
				want = "[voice 0:07: buy marmalade]"
			}
			if got := l.Transcript(fmt.Sprint(e2etest.Ada)); !slices.Equal(got, []string{want}) {
				t.Errorf("the transcript is %q", got)
			}
			if a := l.StoredOf(fmt.Sprint(e2etest.Ada), "user"); len(a) != 1 || a[0].Path == "" || a[0].Error != "" ||
				len(w.Kept()) != 1 {
				t.Errorf("stored %+v", a)
			}
		})
	}
}

// A recording beyond the day's budget is not retried over and over: the answer gives the
// reason immediately, and the recording is transcribed when tokens are available again.
func TestTranscription_overBudgetWaitsADay(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewClock(t, database(t))
		scribe := e2etest.NewScribe(t)
		w.HearsWith(scribe)
		g := w.Start("EVERTHREAD_LIMITS_TOKENS_PER_DAY=100000", "EVERTHREAD_MEDIA_WAIT=30s")
		l := w.Ledger()
		w.Ask("hello")
		l.Quiet(20*time.Second, g.Log)
		if _, err := l.DB.ExecContext(t.Context(),
			`UPDATE usage SET prompt = 89700 - completion`); err != nil { // enough for one call of the model, and little more
			t.Fatal(err)
		}
		say := func(name string, data []byte) {
			w.Telegram.AddFile(name, "files/"+name, data)
			w.Next++
			m := e2etest.Written(e2etest.Ada, w.Next, "")
			delete(m, "text")
			m["date"], m["voice"] = w.Now().Unix(), map[string]any{"file_id": name, "file_unique_id": name, "duration": 7,
				"mime_type": "audio/ogg"}
			w.Telegram.Offer(map[string]any{"message": m})
		}
		const note = "[voice 0:07: not written down, today's tokens are used up]"
		say("first", recording("buy marmalade"+strings.Repeat(" ", 100_000)))
		if got := w.Receive().Text; got != "echo: "+note {
			t.Fatalf("answered %q\n%s", got, g.Log)
		}
		l.Quiet(20*time.Second, g.Log)
		say("second", recording("buy butter"+strings.Repeat(" ", 3_000_000))) // more than is left
		if got := w.Receive().Text; !strings.Contains(got, "budget") {
			t.Fatalf("got %q", got)
		}
		l.Until(`SELECT COUNT(*) FROM messages WHERE body LIKE '[voice 0:07: not written down%'`, 2, g)
		if a := l.StoredOf(fmt.Sprint(e2etest.Ada), "user"); len(a) != 2 || a[0].Path == "" || a[1].Path == "" ||
			a[0].Error != "" || len(scribe.Names()) != 0 {
			t.Errorf("stored %+v, asked for %v", a, scribe.Names())
		}
		w.Set(time.Date(2026, 10, 25, 0, 0, 1, 0, time.UTC))
		if got := w.Receive().Text; got != "echo: [voice 0:07: buy butter]" {
			t.Errorf("answered %q\n%s", got, g.Log)
		}
		l.Until(`SELECT COUNT(*) FROM messages WHERE body = '[voice 0:07: buy marmalade]'`, 1, g)
		l.Until(`SELECT COUNT(*) FROM jobs WHERE queue LIKE 'fetch:%'`, 0, g)
	})
}

func TestVoice_untranscribedKeepsItsPlaceholder(t *testing.T) {
	t.Parallel()
	s := e2etest.NewStreet(t, "")
	s.Env = append(s.Env, "EVERTHREAD_MEDIA_WAIT=10m") // waiting would take too long
	g := s.Open()
	for _, d := range s.Doors {
		d.Voice(recording("nobody listens"))
		if got := s.Hears(d, 1, g)[0].Text; got != "echo: ["+d.Label()+"]" {
			t.Errorf("%s: answered %q", d.Channel, got)
		}
	}
}

// A recording that is redacted before its transcription leaves neither its file nor its
// words.
func TestVoice_forgottenMeanwhileLeavesNothing(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewTown(t, database(t))
		scribe := e2etest.NewScribe(t)
		scribe.Set(http.StatusBadGateway, false)
		w.HearsWith(scribe)
		g := w.Start("EVERTHREAD_MEDIA_WAIT=100ms")
		w.Telegram.AddFile("note", "files/note", recording("the vault opens with zanzibar"))
		voice := map[string]any{"file_id": "note", "file_unique_id": "n", "duration": 7, "mime_type": "audio/ogg"}
		id := w.Telegram.Write(e2etest.Ada, map[string]any{"voice": voice})
		w.Sent(e2etest.Ada, 1)
		for deadline := time.Now().Add(30 * time.Second); len(scribe.Names()) == 0; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("the transcription service was not called")
			}
		}
		forgotten := e2etest.Written(e2etest.Ada, id, "")
		delete(forgotten, "text")
		forgotten["voice"] = voice
		w.Telegram.Write(e2etest.Ada, map[string]any{"text": "/forget", "reply_to_message": forgotten})
		w.Sent(e2etest.Ada, 2)
		scribe.Set(0, false)
		l := w.Ledger()
		w.Settle(l, g)
		l.Fetched(g)
		if files := w.Kept(); len(files) > 0 {
			t.Errorf("files are %v", e2etest.Names(files))
		}
		if n := l.Count(`SELECT COUNT(*) FROM messages WHERE body LIKE '%zanzibar%' OR extra LIKE '%zanzibar%'`); n > 0 {
			t.Errorf("%d messages hold the words", n)
		}
	})
}
