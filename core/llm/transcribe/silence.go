package transcribe

import (
	_ "embed" // the phrases
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/everthread/everthread/core/text"
)

// silence.txt lists what models write for a recording without speech: phrases of the subtitles that they learned from.
//
//go:embed silence.txt
var phrases string

var silent = sync.OnceValue(func() []string {
	var out []string
	for line := range strings.Lines(phrases) {
		out = append(out, letters(line))
	}
	// Of two that begin alike, the longer is tried first.
	slices.SortFunc(out, func(a, b string) int { return len(b) - len(a) })
	return out
})

// aside is a remark about a recording, not words in it, such as [BLANK_AUDIO], (music) or *laughs*.
var aside = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\[[^\[\]]*\]|\([^()]*\)|\*[^*]*\*|<\|[^|]*\|>`)
})

// The bounds of Whisper's own rule for a stretch without speech.
const (
	leastSilence   = 0.6
	mostConfidence = -1
)

// transcription is an answer; Segments are there if the server gives them, as Whisper's does.
type transcription struct {
	Text     string `json:"text"`
	Segments []struct {
		AvgLogprob   float64 `json:"avg_logprob"`
		NoSpeechProb float64 `json:"no_speech_prob"`
	} `json:"segments"`
}

// spoken returns the words of a transcription, "" if there are none.
func spoken(r transcription) string {
	words := strings.Join(strings.Fields(r.Text), " ")
	rest := letters(aside().ReplaceAllString(words, " "))
	for rest != "" {
		n := slices.IndexFunc(silent(), func(s string) bool { return strings.HasPrefix(rest, s) })
		if n < 0 {
			break
		}
		rest = rest[len(silent()[n]):]
	}
	heard := false
	for _, s := range r.Segments {
		heard = heard || s.NoSpeechProb <= leastSilence || s.AvgLogprob >= mostConfidence
	}
	if rest == "" || len(r.Segments) > 0 && !heard {
		return ""
	}
	return words
}

// letters returns the letters and digits of s, folded.
func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, text.Fold(s))
}
