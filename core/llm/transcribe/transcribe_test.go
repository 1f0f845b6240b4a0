package transcribe_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/llm/transcribe"
)

func serve(t *testing.T, answer func(w http.ResponseWriter, name, model string, data []byte)) *transcribe.Transcriber {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f, h, err := r.FormFile("file")
		if err != nil || r.URL.Path != "/v1/audio/transcriptions" || r.Header.Get("Authorization") != "Bearer key" {
			t.Errorf("%s %s: %v", r.URL.Path, r.Header.Get("Authorization"), err)
			return
		}
		data, err := io.ReadAll(f)
		if err != nil {
			t.Error(err)
		}
		answer(w, h.Filename, r.FormValue("model"), data)
	}))
	t.Cleanup(s.Close)
	return transcribe.New(transcribe.Options{BaseURL: s.URL + "/v1/", APIKey: "key", Model: "whisper-1",
		Timeout: time.Second})
}

func TestTranscribe_returnsOneLine(t *testing.T) {
	t.Parallel()
	tr := serve(t, func(w http.ResponseWriter, name, model string, data []byte) {
		if name != "recording.ogg" || model != "whisper-1" || string(data) != "OggS…" {
			t.Errorf("name %q, model %q, data %q", name, model, data)
		}
		io.WriteString(w, `{"text":" Buy milk,\n and  bread. "}`)
	})
	got, err := tr.Transcribe(t.Context(), core.Recording{MIME: "audio/ogg; codecs=opus", Data: []byte("OggS…")})
	if err != nil || got != "Buy milk, and bread." {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestTranscribe_errorsSayWhetherToRetry(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		status    int
		body      string
		permanent bool
		want      string
	}{
		{"wrong key", 401, `{"error":{"message":"bad key"}}`, false, "check transcription.api_key"},
		{"unknown model", 404, `{"error":{"message":"no such model"}}`, false, "check transcription.model"},
		{"refused", 400, `{"error":{"message":"not audio"}}`, true, "refused the recording: not audio"},
		{"broken", 500, `oops`, false, "500"},
		{"refused at length", 400, `{"error":{"message":"` + strings.Repeat("no ", 70_000) + `"}}`, true, "no no"},
		{"broken at length", 500, strings.Repeat("oops ", 40_000), false, "500"},
		{"busy at length", 429, `{"error":{"message":"` + strings.Repeat("no ", 70_000) + `"}}`, false, "no no"},
		{"busy", 429, `{"error":{"message":"slow down"}}`, false, "slow down"},
		{"not JSON", 200, `<html>`, false, "transcribe"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			tr := serve(t, func(w http.ResponseWriter, _, _ string, _ []byte) {
				w.WriteHeader(c.status)
				io.WriteString(w, c.body)
			})
			_, err := tr.Transcribe(t.Context(), core.Recording{Name: "a.mp3", Data: []byte("x")})
			var permanent *core.Permanent
			if err == nil || !strings.Contains(err.Error(), c.want) || errors.As(err, &permanent) != c.permanent ||
				len(err.Error()) > 500 {
				t.Errorf("got %d bytes: %.600s", len(err.Error()), err)
			}
		})
	}
}

func TestTranscribe_givesUpASlowService(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	tr := serve(t, func(http.ResponseWriter, string, string, []byte) { <-release })
	t.Cleanup(func() { close(release) }) // before the server closes
	start := time.Now()
	if _, err := tr.Transcribe(t.Context(), core.Recording{Data: []byte("x")}); err == nil ||
		time.Since(start) > 5*time.Second {
		t.Errorf("got %v after %s", err, time.Since(start))
	}
}

func TestCheck_sendsASoundFile(t *testing.T) {
	t.Parallel()
	tr := serve(t, func(w http.ResponseWriter, name, _ string, data []byte) {
		if name != "silence.wav" || http.DetectContentType(data) != "audio/wave" || len(data) != 44+8000 {
			t.Errorf("%s: %d bytes of %s", name, len(data), http.DetectContentType(data))
		}
		io.WriteString(w, `{"text":""}`)
	})
	if err := tr.Check(t.Context()); err != nil {
		t.Error(err)
	}
}
