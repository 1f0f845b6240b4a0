package sqlstore

import (
	"hash/fnv"
	"slices"
	"strings"
	"unicode"

	"github.com/everthread/everthread/core"
)

// showing are the commands whose answers show messages, or what was made from them in other words.
var showing = []string{"/search", "/day", "/today", "/yesterday", "/summary", "/memory", "/loops", "/remind", "/task",
	"/threads"}

// redactNotices empties the gateway's notices and posts since the first redacted message that may show something of what
// was removed: answers to commands that show stored things, and whatever has words of it.
func (t *tx) redactNotices(since core.MessageID) {
	notices := listOf(t, scanMessage, `SELECT `+messageColumns+
		` FROM messages WHERE user_id = $1 AND id > $2 AND kind IN ('notice', 'day_summary_post') AND redacted = 0`, t.user, since)
	for _, m := range notices {
		command, _, _ := strings.Cut(m.Answers, " ")
		if slices.Contains(showing, command) || t.gone.in(m.Text) {
			t.exec(`UPDATE messages SET body = '', tokens = 0, extra = '{}', redacted = 1 WHERE user_id = $1 AND id = $2`, t.user, m.ID)
			t.redactDeliveries(m)
		}
	}
	t.gone = nil
}

// run is the number of words in a row that a notice shares with a text that it quotes, perhaps shortened.
const run = 4

// quotable holds the runs of words of removed texts, as hashes; those shorter than a run hold all of their words.
type quotable map[uint64]bool

// removed notes that texts are removed, for the notices that quote them.
func (t *tx) removed(texts ...string) {
	if t.gone == nil {
		t.gone = quotable{}
	}
	for _, s := range texts {
		words := wordsOf(s)
		n := min(run, len(words))
		for i := 0; n > 0 && i+n <= len(words); i++ {
			t.gone[hashOf(words[i:i+n])] = true
		}
	}
}

// in reports whether a text quotes one of the removed texts.
func (q quotable) in(s string) bool {
	words := wordsOf(s)
	for i := range words {
		for n := 1; n <= run && i+n <= len(words); n++ {
			if q[hashOf(words[i:i+n])] {
				return true
			}
		}
	}
	return false
}

// hashOf returns a hash of words and their order.
func hashOf(words []string) uint64 {
	h := fnv.New64a()
	for _, w := range words {
		_, _ = h.Write(append([]byte(w), 0)) // it does not fail
	}
	return h.Sum64()
}

// wordsOf returns the words of a text in lower case. In writing without spaces each character counts as one.
func wordsOf(s string) []string {
	var b strings.Builder
	for _, r := range strings.ToLower(s) {
		switch {
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer,
			unicode.Myanmar):
			b.WriteString(" " + string(r) + " ")
		case unicode.IsLetter(r), unicode.IsNumber(r), unicode.IsMark(r):
			b.WriteRune(r)
		default:
			b.WriteByte(' ')
		}
	}
	return strings.Fields(b.String())
}
