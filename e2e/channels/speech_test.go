//go:build e2e

package channels

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/adapters/whatsapp/whatsapptest"
	"github.com/everthread/everthread/e2e/e2etest"
)

// A voice note gets a spoken reply after the text, where the channel supports it. People
// can choose speech for every reply, or for none.
func TestSpeech_onEveryChannel(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		s := e2etest.NewStreet(t, database(t))
		scribe := e2etest.NewScribe(t)
		s.HearsWith(scribe)
		s.SpeaksWith(scribe)
		g := s.Open()
		l := s.Ledger()
		sound := string(e2etest.Speech(t, "speech.ogg"))
		for _, d := range s.Doors {
			takes := d.Channel != e2etest.Bridged // voice notes through a bridge may not be playable
			n := 1
			text := func(want string) {
				t.Helper()
				if got := s.Hears(d, n, g)[n-1]; got.Data != nil || !strings.HasPrefix(got.Text, want) {
					t.Errorf("%s: got %q and a file of %d bytes, want %q", d.Channel, got.Text, len(got.Data), want)
				}
				n++
			}
			voice := func() {
				t.Helper()
				if !takes {
					return
				}
				got := s.Hears(d, n, g)[n-1]
				if string(got.Data) != sound || !strings.HasPrefix(got.MIME, "audio/ogg") || got.Voice !=
					(d.Channel != "whatsapp_agent") {
					t.Errorf("%s: got %q and a file of %d bytes, %s, a voice note %v", d.Channel, got.Text, len(got.Data),
						got.MIME, got.Voice)
				}
				n++
			}
			words := "The marmalade is for " + d.Channel
			d.Voice(recording(words))
			text("echo: [" + d.Label() + ": " + words)
			voice()
			d.Say("hello")
			text("echo: hello")
			d.Say("/voice on")
			text("I speak every answer")
			d.Say("hello again")
			text("echo: hello again")
			voice()
			d.Say("/voice off")
			text("I answer in writing only")
			d.Voice(recording("in writing"))
			text("echo: [" + d.Label() + ": in writing")
			s.Settle(l, g)
			if got := d.Got(); len(got) != n-1 {
				t.Errorf("%s: got %d things, want %d", d.Channel, len(got), n-1)
			}
			a := l.StoredOf(d.External, "assistant")
			if takes && (len(a) != 2 || a[0].Kind != "voice" || string(s.Kept()[a[0].Path]) != sound) || !takes && len(a) > 0 {
				t.Errorf("%s: stored %+v", d.Channel, a)
			}
		}
		if got := scribe.Texts(); len(got) != 2*(len(s.Doors)-1) || !strings.HasPrefix(got[0], "echo: [voice 0:07") ||
			got[1] != "echo: hello again." {
			t.Errorf("it was to speak %q", got)
		}
	})
}

// Wherever the process dies, the text arrives, and the voice note at most once.
func TestSpeech_onceAfterAPowerCut(t *testing.T) {
	t.Parallel()
	engines := func(t *testing.T, do func(*testing.T, func(*testing.T) string)) { e2etest.Engines(t, do) }
	one := func(t *testing.T, do func(*testing.T, func(*testing.T) string)) {
		do(t, func(*testing.T) string { return "" })
	}
	for step, c := range map[string]struct {
		voices int
		on     func(*testing.T, func(*testing.T, func(*testing.T) string))
	}{
		"committed": {1, one},     // the text is stored, and its speech requested
		"spoken":    {1, engines}, // the speech is generated, and not stored
		"voiced":    {1, engines}, // its delivery is stored
		"sending:2": {0, one},     // it may have arrived; the text has, so it is not sent again
		"sent:2":    {1, one},
	} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			c.on(t, func(t *testing.T, database func(*testing.T) string) {
				w := e2etest.NewClock(t, database(t))
				scribe := e2etest.NewScribe(t)
				w.HearsWith(scribe)
				w.SpeaksWith(scribe)
				g := w.Start("EVERTHREAD_CRASH_AT=" + step)
				w.Telegram.AddFile("note", "files/note", recording("buy marmalade"))
				w.Next++
				m := e2etest.Written(e2etest.Ada, w.Next, "")
				delete(m, "text")
				m["date"], m["voice"] = w.Now().Unix(), map[string]any{"file_id": "note", "file_unique_id": "n", "duration": 7,
					"mime_type": "audio/ogg"}
				w.Telegram.Offer(map[string]any{"message": m})
				if !g.Wait(30 * time.Second) {
					t.Fatalf("it did not crash\n%s", g.Log)
				}
				g = w.Start()
				l := w.Ledger()
				w.Settle(l, g)
				texts, repeats, heard := 0, 0, 0
				for _, m := range w.Telegram.Sent(e2etest.Ada) {
					switch {
					case m.File != nil:
						heard++
					case strings.HasSuffix(m.Text, e2etest.RepeatMark):
						repeats++
					default:
						texts++
					}
				}
				if step == "voiced" && heard == 0 && l.Count(`SELECT COUNT(*) FROM deliveries WHERE state = 'unknown'`) > 0 {
					heard = c.voices // it was being sent when the process died, and may have arrived
				}
				if texts > 1 || texts+repeats < 1 || repeats > 1 || heard != c.voices {
					t.Errorf("got %d texts, %d with a mark and %d voices, want 1 and %d\n%s", texts, repeats, heard, c.voices, g.Log)
				}
				if a := l.StoredOf(fmt.Sprint(e2etest.Ada), "assistant"); len(a) != 1 {
					t.Errorf("stored %+v", a)
				}
			})
		})
	}
}

// A speech server that fails costs the voice, never the text, which does not wait for it.
// The reason is reported to operators, and not in the chat.
func TestSpeech_failureCostsNoAnswer(t *testing.T) {
	t.Parallel()
	page := []byte("<!doctype html><html><title>Sign in</title></html>")
	large := make([]byte, 100_000)
	for name, c := range map[string]struct {
		status int
		hangs  bool
		sound  []byte
		said   string
	}{
		"a page":    {sound: page, said: "answered with text/html"},
		"silence":   {sound: e2etest.Speech(t, "silence.ogg"), said: "the recording is silent"},
		"nothing":   {sound: []byte{}, said: "answered with nothing"},
		"too much":  {sound: large, said: "larger than 65536 bytes (speech.max_bytes)"},
		"wrong key": {status: http.StatusUnauthorized, said: "check speech.api_key"},
		"hangs":     {hangs: true, said: "did not answer within 1s (speech.timeout)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := e2etest.NewTown(t, "")
			scribe := e2etest.NewScribe(t)
			scribe.Set(c.status, c.hangs)
			scribe.Says(c.sound)
			w.SpeaksWith(scribe)
			g := w.Start("EVERTHREAD_SPEECH_TIMEOUT=1s", "EVERTHREAD_SPEECH_MAX_BYTES=64KiB")
			w.Telegram.Say(e2etest.Ada, "/voice on")
			w.Sent(e2etest.Ada, 1)
			begin := time.Now()
			w.Telegram.Say(e2etest.Ada, "hello")
			if got := w.Sent(e2etest.Ada, 2)[1].Text; got != "echo: hello" || time.Since(begin) > 900*time.Millisecond {
				t.Errorf("answered %q after %s", got, time.Since(begin))
			}
			l := w.Ledger()
			l.Until(`SELECT COUNT(*) FROM jobs WHERE queue = 'speak' AND state = 'dead'`, 1, g)
			w.Settle(l, g)
			if got := w.Telegram.Sent(e2etest.Ada); len(got) != 2 {
				t.Errorf("the chat has %+v", got)
			}
			g.Logged("answer not spoken")
			if len(w.Kept()) > 0 {
				t.Errorf("files are %v\n%s", e2etest.Names(w.Kept()), g.Log)
			}
			w.Telegram.Say(e2etest.Ada, "/voice")
			if got := w.Sent(e2etest.Ada, 3)[2].Text; !strings.Contains(got, "couldn't speak the answer") {
				t.Errorf("got /voice %q", got)
			}
			found := w.Doctor("EVERTHREAD_SPEECH_TIMEOUT=1s", "EVERTHREAD_SPEECH_MAX_BYTES=64KiB")
			if got := fmt.Sprint(found["speech"]); !strings.Contains(got, c.said) {
				t.Errorf("got doctor %q", got)
			}
			scribe.Set(0, false)
			scribe.Says(e2etest.Speech(t, "speech.ogg"))
			w.Telegram.Say(e2etest.Ada, "and now?")
			if got := w.Sent(e2etest.Ada, 5); got[3].Text != "echo: and now?" || got[4].File == nil {
				t.Errorf("once it works: %+v", got[3:])
			}
			w.Settle(l, g)
			w.Telegram.Say(e2etest.Ada, "/voice")
			if got := w.Sent(e2etest.Ada, 6)[5].Text; strings.Contains(got, "couldn't speak the answer") {
				t.Errorf("got /voice %q after the service works again", got)
			}
		})
	}
}

// A person whose recording is too long for transcription is told so, whether or not the
// service reports its duration.
func TestVoice_tooLongIsTold(t *testing.T) {
	t.Parallel()
	w := e2etest.NewTown(t, "")
	scribe := e2etest.NewScribe(t)
	w.HearsWith(scribe)
	wa := w.OnWhatsApp()
	g := w.Start("EVERTHREAD_TRANSCRIPTION_MAX_DURATION=2s", "EVERTHREAD_ACCESS_POLICY=open")
	wa.Webhook(g.URL + "/webhooks/whatsapp")
	const told = "(I couldn't listen to your recording: it's longer than 0:02 minutes.)"
	w.Telegram.AddFile("note", "files/note", recording("buy marmalade"))
	w.Telegram.Write(e2etest.Ada, map[string]any{"voice": map[string]any{"file_id": "note", "file_unique_id": "n",
		"duration": 7, "mime_type": "audio/ogg"}})
	if got := w.Sent(e2etest.Ada, 1)[0].Text; got != "echo: [voice 0:07: not written down, it is too long]\n\n"+told {
		t.Errorf("Telegram: answered %q", got)
	}
	f := wa.AddFile(e2etest.Speech(t, "speech.ogg"), "audio/ogg; codecs=opus")
	f["voice"] = true
	wa.Write(whatsapptest.Person{Phone: "16505551234", UserID: "US.1", Name: "Bob"},
		map[string]any{"type": "audio", "audio": f})
	for deadline := time.Now().Add(30 * time.Second); len(wa.Sent()) == 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("WhatsApp has no answer\n%s", g.Log)
		}
	}
	if got := wa.Sent()[0].Text; got != "echo: [voice: not written down, it is too long]\n\n"+told {
		t.Errorf("WhatsApp: answered %q", got)
	}
	if len(scribe.Names()) > 0 {
		t.Errorf("%v were to be written down", scribe.Names())
	}
}
