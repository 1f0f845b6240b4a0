// Package tokens counts tokens with the o200k_base vocabulary (SPEC 5).
//
// The vocabulary is loaded by the first Count, not before: it takes about 35 ms
// and 12 MB of resident memory (7 MB of heap, the rest pages of the binary).
// A text is counted in pieces of at most 8 KiB, so that neither time nor memory
// grows faster than the text, whatever it holds: 1 MB of one letter takes
// about a quarter of a second and no more memory than a short message.
package tokens

import (
	"sync"
	"unicode/utf8"

	"github.com/tiktoken-go/tokenizer/codec"

	"github.com/everthread/everthread/core"
)

// pieceBytes bounds what the vocabulary is asked to count at once.
const pieceBytes = 8 << 10

var _ core.Tokenizer = (*Counter)(nil)

// Counter counts tokens. It is safe for concurrent use.
type Counter struct {
	load func() *codec.Codec
}

// New returns a counter that loads its vocabulary when it is first used.
func New() *Counter {
	return &Counter{load: sync.OnceValue(codec.NewO200kBase)}
}

// Count returns how many tokens text has. Texts of up to 8 KiB, and longer
// ones with words in them, are counted exactly; a longer run without a word
// boundary may be counted up to three tokens too high for each 8 KiB of it.
func (c *Counter) Count(text string) int {
	if text == "" {
		return 0
	}
	vocabulary := c.load()
	total := 0
	for len(text) > pieceBytes {
		end := boundary(text)
		total += count(vocabulary, text[:end])
		text = text[end:]
	}
	return total + count(vocabulary, text)
}

// count counts one piece. The library can only fail on a limit of its own; the
// length in bytes is then an upper bound.
func count(vocabulary *codec.Codec, piece string) int {
	n, err := vocabulary.Count(piece)
	if err != nil {
		return len(piece)
	}
	return n
}

// boundary returns where to cut the first piece off text, which is longer than
// one: before the last space that stands between two ASCII letters, where a
// token always ends, else between two runes.
func boundary(text string) int {
	for i := pieceBytes - 1; i > pieceBytes/2; i-- {
		if text[i] == ' ' && letter(text[i-1]) && letter(text[i+1]) {
			return i
		}
	}
	end := pieceBytes
	for end > pieceBytes-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return end
}

func letter(b byte) bool { return 'a' <= b|0x20 && b|0x20 <= 'z' }
