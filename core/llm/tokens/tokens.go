// Package tokens counts tokens with the o200k_base vocabulary.
//
// A message of 78 bytes takes about a microsecond. Text without gaps is cut every
// 512 bytes, so that time and memory stay proportional to any text: the worst known
// hostile MiB of UTF-8 takes about a second, and no more memory than a short message.
package tokens

import (
	_ "embed"
	"math"
	"unicode/utf8"

	"github.com/everthread/everthread/core"
)

// pieceBytes bounds the input of a merge.
const pieceBytes = 512

var _ core.Tokenizer = (*Counter)(nil)

// Counter counts tokens. It is safe for concurrent use.
type Counter struct{}

// New returns a counter.
func New() *Counter { return &Counter{} }

// Count returns the number of tokens in text. It is exact if no word, number or run of spaces is longer than 512 bytes;
// for each 512 bytes of a longer one it may be up to three too high, never too low. An invalid byte counts like U+FFFD.
func (*Counter) Count(text string) int {
	if !utf8.ValidString(text) {
		text = string([]rune(text))
	}
	total := 0
	for text != "" {
		end := first(text)
		total += count(text[:end])
		text = text[end:]
	}
	return total
}

// count counts the tokens of a piece.
func count(piece string) int {
	total := 0
	for len(piece) > pieceBytes {
		cut := pieceBytes
		for !utf8.RuneStart(piece[cut]) {
			cut--
		}
		total += merged(piece[:cut])
		piece = piece[cut:]
	}
	if rank(piece) != noRank {
		return total + 1
	}
	return total + merged(piece)
}

// The vocabulary is read in place in the program, so it takes no heap, and only the used pages of its 3.4 MB. It begins
// with a hash table of slots of 32 bits, little endian: the offset of a token's entry (22 bits, from the end of the
// table; 0: the slot is free) and the rest of its hash. An entry is the token's rank (3 bytes), its length (1 byte) and
// the token. Entries are in order of rank, so that frequent tokens are together. A collision goes to the next slot.
//
// The file is made from the vocabulary of github.com/tiktoken-go/tokenizer (MIT) by
// "go test ./core/llm/tokens -run Vocabulary -update".
//
//go:embed o200k_base.bin
var vocabulary string

const (
	slotBits   = 18
	slotsEnd   = 4 << slotBits
	placeBits  = 22
	entryHead  = 4         // bytes of an entry before its token
	placeFirst = entryHead // 0 is a free slot
	longest    = 128       // bytes of a token
	noRank     = math.MaxInt32
)

// hash returns the FNV-1a hash of a token: its upper bits select the slot, its lower ones are stored in it.
func hash(token string) uint32 {
	h := uint32(2166136261)
	for i := range len(token) {
		h = (h ^ uint32(token[i])) * 16777619
	}
	return h ^ h>>15
}

// rank returns the rank of a token in the vocabulary, noRank if it is none.
func rank(token string) int32 {
	if len(token) > longest {
		return noRank
	}
	h := hash(token)
	for slot := h >> (32 - slotBits); ; slot = (slot + 1) % (1 << slotBits) {
		v := word(vocabulary[4*slot:])
		if v == 0 {
			return noRank
		}
		if v>>placeBits != h%(1<<(32-placeBits)) {
			continue
		}
		e := vocabulary[slotsEnd+v%(1<<placeBits):]
		if head := word(e); int(head>>24) == len(token) && e[entryHead:entryHead+len(token)] == token {
			return int32(head & 0xFFFFFF)
		}
	}
}

// word reads four bytes.
func word(s string) uint32 {
	_ = s[3]
	return uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24
}

// pair is a part of a piece and the one after it.
type pair struct {
	from int32
	rank int32 // of both as one token
}

// merged returns the number of tokens of a piece by byte pair encoding: of all pairs that are a token together, that of
// the lowest rank is merged, the leftmost first, until there are none.
func merged(piece string) int {
	var few [64]pair
	pairs := few[:0]
	for i := range len(piece) {
		p := pair{int32(i), noRank}
		if i+1 < len(piece) {
			p.rank = rank(piece[i : i+2])
		}
		pairs = append(pairs, p)
	}
	for {
		low := 0
		for i, p := range pairs {
			if p.rank < pairs[low].rank {
				low = i
			}
		}
		if pairs[low].rank == noRank {
			return len(pairs)
		}
		pairs = append(pairs[:low+1], pairs[low+2:]...)
		for i := max(low-1, 0); i <= low; i++ {
			pairs[i].rank = together(piece, pairs, i)
		}
	}
}

// together returns the rank of a part and the next as one token.
func together(piece string, pairs []pair, i int) int32 {
	if i+1 == len(pairs) {
		return noRank
	}
	end := len(piece)
	if i+2 < len(pairs) {
		end = int(pairs[i+2].from)
	}
	return rank(piece[pairs[i].from:end])
}
