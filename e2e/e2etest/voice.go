//go:build e2e

package e2etest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Scribe is a server with OpenAI's routes for audio. It transcribes recordings, which are
// the spoken words after the first bytes of an Ogg file. And it speaks: its answer to any
// text is the same recording.
type Scribe struct {
	*httptest.Server
	t      *testing.T
	Mu     sync.Mutex
	Asked  []string // names of received recordings
	Spoken []string // received texts
	Status int      // of answers; 0: it works
	Hangs  bool
	Words  string // transcript of any recording; empty: its own words
	Bytes  int    // of received recordings
	Sound  []byte // answer to a text
}

// OggHead is the beginning of people's recordings.
const OggHead = "OggS\x00\x02"

// NewScribe starts a working Scribe.
func NewScribe(t *testing.T) *Scribe {
	t.Helper()
	s := &Scribe{t: t, Sound: Speech(t, "speech.ogg")}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/audio/transcriptions", s.listen)
	mux.HandleFunc("POST /v1/audio/speech", s.speak)
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// Speech is a recording by a real encoder.
func Speech(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile("../../core/files/media/testdata/" + name)
	Must(t, err)
	return data
}

func (s *Scribe) listen(w http.ResponseWriter, r *http.Request) {
	f, h, err := r.FormFile("file")
	if err != nil || r.FormValue("model") != "whisper-1" || r.Header.Get("Authorization") != "Bearer scribe-key" {
		s.t.Errorf("asked %s for %q: %v", r.URL.Path, r.FormValue("model"), err)
		return
	}
	data, _ := io.ReadAll(f)
	s.Mu.Lock()
	s.Asked, s.Bytes = append(s.Asked, h.Filename), s.Bytes+len(data)
	words := cmp.Or(s.Words, string(bytes.TrimPrefix(data, []byte(OggHead))))
	s.Mu.Unlock()
	if s.works(w, r) {
		_ = json.NewEncoder(w).Encode(map[string]string{"text": " " + words + "\n"})
	}
}

func (s *Scribe) speak(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Model, Voice, Input string
		Format              string `json:"response_format"`
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || asked.Model != "tts-1" || asked.Voice != "alloy" ||
		asked.Format != "opus" || r.Header.Get("Authorization") != "Bearer scribe-key" {
		s.t.Errorf("asked to speak by %+v: %v", asked, err)
		return
	}
	s.Mu.Lock()
	s.Spoken = append(s.Spoken, asked.Input)
	sound := s.Sound
	s.Mu.Unlock()
	if s.works(w, r) {
		_, _ = w.Write(sound)
	}
}

// works reports whether to answer a request; otherwise it was refused, or hung.
func (s *Scribe) works(w http.ResponseWriter, r *http.Request) bool {
	s.Mu.Lock()
	status, hangs := s.Status, s.Hangs
	s.Mu.Unlock()
	switch {
	case hangs:
		select {
		case <-r.Context().Done():
		case <-s.t.Context().Done():
		}
		return false
	case status != 0:
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"error":{"message":"it is no speech"}}`)
		return false
	}
	return true
}

// Set sets the status of answers.
func (s *Scribe) Set(status int, hangs bool) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	s.Status, s.Hangs = status, hangs
}

// Says sets the answer to texts.
func (s *Scribe) Says(sound []byte) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	s.Sound = sound
}

// Names returns the names of received recordings.
func (s *Scribe) Names() []string {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	return slices.Clone(s.Asked)
}

// Texts returns the received texts.
func (s *Scribe) Texts() []string {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	return slices.Clone(s.Spoken)
}

// HearsWith configures it for transcription.
func (w *Town) HearsWith(s *Scribe) {
	w.Env = append(w.Env, "EVERTHREAD_TRANSCRIPTION_BASE_URL="+s.URL+"/v1", "EVERTHREAD_TRANSCRIPTION_API_KEY=scribe-key",
		"EVERTHREAD_TRANSCRIPTION_MODEL=whisper-1")
}

// SpeaksWith configures it for speech.
func (w *Town) SpeaksWith(s *Scribe) {
	w.Env = append(w.Env, "EVERTHREAD_SPEECH_BASE_URL="+s.URL+"/v1", "EVERTHREAD_SPEECH_API_KEY=scribe-key",
		"EVERTHREAD_SPEECH_MODEL=tts-1", "EVERTHREAD_SPEECH_VOICE=alloy")
}

// Label returns the placeholder of a voice note on the door's channel: WhatsApp and signal-cli do not
// report its duration.
func (d door) Label() string {
	if strings.HasPrefix(d.Channel, "whatsapp") || d.Channel == "signal" {
		return "voice"
	}
	return "voice 0:07"
}
