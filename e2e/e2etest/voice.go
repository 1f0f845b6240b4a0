//go:build e2e

package e2etest

import (
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
)

// Scribe is a transcription service: a recording is the words that are spoken in
// it, after the first bytes of an Ogg file.
type Scribe struct {
	*httptest.Server
	Mu     sync.Mutex
	Asked  []string // the names of what came
	Status int      // of answers; 0: it works
	Hangs  bool
}

func (s *Scribe) Set(status int, hangs bool) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	s.Status, s.Hangs = status, hangs
}

func (s *Scribe) Names() []string {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	return slices.Clone(s.Asked)
}

// HearsWith configures the service.
func (w *Town) HearsWith(s *Scribe) {
	w.Env = append(w.Env, "EVERTHREAD_TRANSCRIPTION_BASE_URL="+s.URL+"/v1", "EVERTHREAD_TRANSCRIPTION_API_KEY=scribe-key",
		"EVERTHREAD_TRANSCRIPTION_MODEL=whisper-1")
}

// Label is what stands for a voice note of the door: WhatsApp does not say how
// long it is.
func (d door) Label() string {
	if strings.HasPrefix(d.Channel, "whatsapp") {
		return "voice"
	}
	return "voice 0:07"
}
