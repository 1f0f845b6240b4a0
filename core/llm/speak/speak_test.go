package speak_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/llm/speak"
)

func serve(t *testing.T, answer func(w http.ResponseWriter, asked map[string]any)) *speak.Speaker {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked map[string]any
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || r.URL.Path != "/v1/audio/speech" ||
			r.Header.Get("Authorization") != "Bearer key" {
			t.Errorf("%s %s: %v", r.URL.Path, r.Header.Get("Authorization"), err)
		}
		answer(w, asked)
	}))
	t.Cleanup(s.Close)
	return speak.New(speak.Options{BaseURL: s.URL + "/v1/", APIKey: "key", Model: "tts-1", Voice: "alloy",
		Timeout: time.Second, MaxBytes: 100})
}

func TestSpeak_opus(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, asked map[string]any) {
		if asked["model"] != "tts-1" || asked["voice"] != "alloy" || asked["input"] != "Good morning." ||
			asked["response_format"] != "opus" {
			t.Errorf("asked for %v", asked)
		}
		io.WriteString(w, "OggS…")
	})
	got, err := s.Speak(t.Context(), core.Speech{Text: "Good morning."})
	if err != nil || string(got) != "OggS…" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestSpeak_errorsSayWhatToDo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		status    int
		body      string
		permanent bool
		want      string
	}{
		{"wrong key", 401, `{"error":{"message":"bad key"}}`, true, "check speech.api_key"},
		{"unknown model", 404, `{"error":{"message":"no such model"}}`, true, "check speech.model"},
		{"unknown voice", 400, `{"error":{"message":"no voice x"}}`, true, "check speech.model and speech.voice: no voice x"},
		{"broken", 500, `oops`, false, "500"},
		{"busy", 429, `{"error":{"message":"slow down"}}`, false, "slow down"},
		{"too much", 200, strings.Repeat("x", 101), true, "larger than 100 bytes (speech.max_bytes)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, func(w http.ResponseWriter, _ map[string]any) {
				w.WriteHeader(c.status)
				io.WriteString(w, c.body)
			})
			_, err := s.Speak(t.Context(), core.Speech{Text: "x"})
			var permanent *core.Permanent
			if err == nil || !strings.Contains(err.Error(), c.want) || errors.As(err, &permanent) != c.permanent {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestSpeak_givesUpASlowService(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]string{"before it begins": "", "in the middle": "OggS"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			release := make(chan struct{})
			s := serve(t, func(w http.ResponseWriter, _ map[string]any) {
				if first != "" {
					io.WriteString(w, first)
					w.(http.Flusher).Flush()
				}
				<-release
			})
			t.Cleanup(func() { close(release) }) // before the server closes
			if _, err := s.Speak(t.Context(), core.Speech{Text: "x"}); err == nil ||
				!strings.Contains(err.Error(), "did not answer within 1s (speech.timeout)") {
				t.Errorf("got %v", err)
			}
		})
	}
}
