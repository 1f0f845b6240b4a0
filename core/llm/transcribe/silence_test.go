package transcribe_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/everthread/everthread/core"
)

func TestTranscribe_silence(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{
		`{"text":""}`:                                   "",
		`{"text":" \n"}`:                                "",
		`{"text":null}`:                                 "",
		`{"text":"."}`:                                  "",
		`{"text":"♪ ♪ …"}`:                              "",
		`{"text":"[BLANK_AUDIO]"}`:                      "",
		`{"text":"(music)"}`:                            "",
		`{"text":"*sighs* [ Silence ]"}`:                "",
		`{"text":"<|nospeech|>"}`:                       "",
		`{"text":"Thank you for watching!"}`:            "",
		`{"text":"Untertitel der Amara.org-Community"}`: "",
		`{"text":"Sous-titres réalisés par la communauté d'Amara.org"}`:                                       "",
		`{"text":"` + strings.Repeat("Thanks for watching! ", 400) + `"}`:                                     "",
		`{"text":" Thank you.","segments":[{"no_speech_prob":0.96,"avg_logprob":-1.2,"text":" Thank you."}]}`: "",
		`{"text":" Thank you.","segments":[{"no_speech_prob":0.1,"avg_logprob":-0.2,"text":" Thank you."}]}`:  "Thank you.",
		`{"text":"you"}`:                          "you",
		`{"text":"Thank you."}`:                   "Thank you.",
		`{"text":"Thanks for watching the kids"}`: "Thanks for watching the kids",
		`{"text":"(laughs) that is what I said"}`: "(laughs) that is what I said",
		`{"text":"42"}`:                           "42",
		`{"text":"买牛奶"}`:                          "买牛奶",
	} {
		tr := serve(t, func(w http.ResponseWriter, _, _ string, _ []byte) { io.WriteString(w, answer) })
		got, err := tr.Transcribe(t.Context(), core.Recording{MIME: "audio/ogg", Data: []byte("OggS")})
		if err != nil || got != want {
			t.Errorf("%.90s: got %q, %v, want %q", answer, got, err, want)
		}
	}
}
