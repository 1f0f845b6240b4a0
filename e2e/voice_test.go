//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// scribe is a transcription service: a recording is the words that are spoken in
// it, after the first bytes of an Ogg file.
type scribe struct {
	*httptest.Server
	mu     sync.Mutex
	asked  []string // the names of what came
	status int      // of answers; 0: it works
	hangs  bool
}

const oggHead = "OggS\x00\x02"

// recording is a voice note.
func recording(words string) []byte { return []byte(oggHead + words) }

func newScribe(t *testing.T) *scribe {
	t.Helper()
	s := &scribe{}
	ctx := t.Context()
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f, h, err := r.FormFile("file")
		if err != nil || r.URL.Path != "/v1/audio/transcriptions" || r.FormValue("model") != "whisper-1" || r.Header.Get("Authorization") != "Bearer scribe-key" {
			t.Errorf("asked %s for %q: %v", r.URL.Path, r.FormValue("model"), err)
			return
		}
		data, _ := io.ReadAll(f)
		s.mu.Lock()
		s.asked = append(s.asked, h.Filename)
		status, hangs := s.status, s.hangs
		s.mu.Unlock()
		if hangs {
			select {
			case <-r.Context().Done():
			case <-ctx.Done():
			}
			return
		}
		if status != 0 {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, `{"error":{"message":"it is no speech"}}`)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]string{"text": " " + string(bytes.TrimPrefix(data, []byte(oggHead))) + "\n"})
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *scribe) set(status int, hangs bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status, s.hangs = status, hangs
}

func (s *scribe) names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

// hearsWith configures the service.
func (w *town) hearsWith(s *scribe) {
	w.env = append(w.env, "EVERTHREAD_TRANSCRIPTION_BASE_URL="+s.URL+"/v1", "EVERTHREAD_TRANSCRIPTION_API_KEY=scribe-key",
		"EVERTHREAD_TRANSCRIPTION_MODEL=whisper-1")
}

// label is what stands for a voice note of the door: WhatsApp does not say how
// long it is.
func (d door) label() string {
	if strings.HasPrefix(d.channel, "whatsapp") {
		return "voice"
	}
	return "voice 0:07"
}

// What is said in a voice note stands in the transcript and before the model,
// and is found again.
func TestAVoiceNoteIsWrittenDownOnEveryChannel(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		s := newStreet(t, database(t))
		scribe := newScribe(t)
		s.hearsWith(scribe)
		g := s.open()
		l := s.ledger()
		for _, d := range s.doors {
			words := "The marmalade is for " + d.channel
			d.voice(recording(words))
			want := "[" + d.label() + ": " + words + "]"
			if got := s.hears(d, 1, g)[0].Text; got != "echo: "+want {
				t.Errorf("%s: answered %q, want %q", d.channel, got, want)
			}
			if got := l.transcript(d.external); !slices.Equal(got, []string{want}) {
				t.Errorf("%s: the transcript is %q", d.channel, got)
			}
			a := l.storedOf(d.external, "user")
			if len(a) != 1 || a[0].Kind != "voice" || a[0].Transcript != words || a[0].Error != "" || !bytes.Equal(s.kept()[a[0].Path], recording(words)) {
				t.Errorf("%s: stored %+v", d.channel, a)
			}
			l.until(`SELECT COUNT(*) FROM users WHERE id > 0 AND indexed < last_message`, 0, g)
			if got := s.mustRun("search", "marmalade", "--user", l.userOf(d.external)); !strings.Contains(got, words) {
				t.Errorf("%s: search shows %q", d.channel, got)
			}
		}
		for _, name := range scribe.names() {
			if !strings.HasSuffix(name, ".ogg") {
				t.Errorf("a recording was sent as %q", name)
			}
		}
	})
}

// A service that does not work costs the words of the recording, never the
// answer, which waits no longer than it is told to. Words that come later are
// written down all the same.
func TestATranscriptionThatFailsCostsNoAnswer(t *testing.T) {
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
			w := newTown(t, "")
			scribe := newScribe(t)
			scribe.set(c.status, c.hangs)
			w.hearsWith(scribe)
			g := w.start("EVERTHREAD_LLM_VISION=true", "EVERTHREAD_TRANSCRIPTION_TIMEOUT=2s", fmt.Sprint("EVERTHREAD_MEDIA_WAIT=", wait))
			w.telegram.AddFile("note", "files/note", recording("buy marmalade"))
			begin := time.Now()
			w.telegram.Write(ada, map[string]any{"voice": map[string]any{"file_id": "note", "file_unique_id": "n", "duration": 7, "mime_type": "audio/ogg"}})
			if got := w.sent(ada, 1)[0].Text; got != "echo: [voice 0:07]" {
				t.Errorf("answered %q", got)
			}
			if took := time.Since(begin); took < c.atLeast || took > c.atLeast+2500*time.Millisecond {
				t.Errorf("answered after %s", took)
			}
			scribe.set(0, false)
			l := w.ledger()
			l.fetched(g)
			want := "[voice 0:07]"
			if c.later {
				want = "[voice 0:07: buy marmalade]"
			}
			if got := l.transcript(fmt.Sprint(ada)); !slices.Equal(got, []string{want}) {
				t.Errorf("the transcript is %q", got)
			}
			if a := l.storedOf(fmt.Sprint(ada), "user"); len(a) != 1 || a[0].Path == "" || a[0].Error != "" || len(w.kept()) != 1 {
				t.Errorf("stored %+v", a)
			}
		})
	}
}

// A recording that the day has no tokens for is not tried over and over: the answer
// says why at once, and it is written down when they are there again.
func TestAVoiceNoteOverTheBudgetIsWrittenDownTheNextDay(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := newClock(t, database(t))
		scribe := newScribe(t)
		w.hearsWith(scribe)
		g := w.start("EVERTHREAD_LIMITS_TOKENS_PER_DAY=100000", "EVERTHREAD_MEDIA_WAIT=30s")
		l := w.ledger()
		w.ask("hello")
		l.quiet(20*time.Second, g.log)
		if _, err := l.db.ExecContext(t.Context(), `UPDATE usage SET prompt = 89700 - completion`); err != nil { // a call of the model is left, and little more
			t.Fatal(err)
		}
		say := func(name string, data []byte) {
			w.telegram.AddFile(name, "files/"+name, data)
			w.next++
			m := written(ada, w.next, "")
			delete(m, "text")
			m["date"], m["voice"] = w.now().Unix(), map[string]any{"file_id": name, "file_unique_id": name, "duration": 7, "mime_type": "audio/ogg"}
			w.telegram.Offer(map[string]any{"message": m})
		}
		const note = "[voice 0:07: not written down, today's tokens are used up]"
		say("first", recording("buy marmalade"+strings.Repeat(" ", 100_000)))
		if got := w.receive().Text; got != "echo: "+note {
			t.Fatalf("answered %q\n%s", got, g.log)
		}
		l.quiet(20*time.Second, g.log)
		say("second", recording("buy butter"+strings.Repeat(" ", 3_000_000))) // more than is left
		if got := w.receive().Text; !strings.Contains(got, "budget") {
			t.Fatalf("got %q", got)
		}
		l.until(`SELECT COUNT(*) FROM messages WHERE body LIKE '[voice 0:07: not written down%'`, 2, g)
		if a := l.storedOf(fmt.Sprint(ada), "user"); len(a) != 2 || a[0].Path == "" || a[1].Path == "" || a[0].Error != "" || len(scribe.names()) != 0 {
			t.Errorf("stored %+v, asked for %v", a, scribe.names())
		}
		w.set(time.Date(2026, 10, 25, 0, 0, 1, 0, time.UTC))
		if got := w.receive().Text; got != "echo: [voice 0:07: buy butter]" {
			t.Errorf("answered %q\n%s", got, g.log)
		}
		l.until(`SELECT COUNT(*) FROM messages WHERE body = '[voice 0:07: buy marmalade]'`, 1, g)
		l.until(`SELECT COUNT(*) FROM jobs WHERE queue LIKE 'fetch:%'`, 0, g)
	})
}

func TestAVoiceNoteThatNobodyWritesDownKeepsItsPlaceholder(t *testing.T) {
	t.Parallel()
	s := newStreet(t, "")
	s.env = append(s.env, "EVERTHREAD_MEDIA_WAIT=10m") // whoever waited would wait too long
	g := s.open()
	for _, d := range s.doors {
		d.voice(recording("nobody listens"))
		if got := s.hears(d, 1, g)[0].Text; got != "echo: ["+d.label()+"]" {
			t.Errorf("%s: answered %q", d.channel, got)
		}
	}
}

// A recording that is taken back while nobody could write it down leaves neither
// its file nor its words.
func TestAVoiceNoteThatIsForgottenMeanwhileLeavesNothing(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := newTown(t, database(t))
		scribe := newScribe(t)
		scribe.set(http.StatusBadGateway, false)
		w.hearsWith(scribe)
		g := w.start("EVERTHREAD_MEDIA_WAIT=100ms")
		w.telegram.AddFile("note", "files/note", recording("the vault opens with zanzibar"))
		voice := map[string]any{"file_id": "note", "file_unique_id": "n", "duration": 7, "mime_type": "audio/ogg"}
		id := w.telegram.Write(ada, map[string]any{"voice": voice})
		w.sent(ada, 1)
		for deadline := time.Now().Add(30 * time.Second); len(scribe.names()) == 0; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("nobody was asked to write it down")
			}
		}
		forgotten := written(ada, id, "")
		delete(forgotten, "text")
		forgotten["voice"] = voice
		w.telegram.Write(ada, map[string]any{"text": "/forget", "reply_to_message": forgotten})
		w.sent(ada, 2)
		scribe.set(0, false)
		l := w.ledger()
		w.settle(l, g)
		l.fetched(g)
		if files := w.kept(); len(files) > 0 {
			t.Errorf("files are %v", names(files))
		}
		if n := l.count(`SELECT COUNT(*) FROM messages WHERE body LIKE '%zanzibar%' OR extra LIKE '%zanzibar%'`); n > 0 {
			t.Errorf("%d messages hold the words", n)
		}
	})
}
