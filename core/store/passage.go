package store

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/everthread/everthread/core"
)

// Passage is a stretch of a message, short enough to show unshortened: Text is
// Message's text from byte From to byte To.
type Passage struct {
	Message  core.MessageID
	From, To int
	Text     string
}

// PassageVector locates a passage and holds its vector. Values are scaled to -127…127:
// they keep the vector's direction to about a hundredth, but not its length.
type PassageVector struct {
	Message  core.MessageID
	From, To int
	Values   []int8
}

// Direction scales a vector to the Values of a PassageVector.
func Direction(v []float32) []int8 {
	most := float32(0)
	for _, x := range v {
		most = max(most, max(x, -x))
	}
	out := make([]int8, len(v))
	if most == 0 {
		return out
	}
	for i, x := range v {
		out[i] = int8(math.RoundToEven(float64(x / most * math.MaxInt8)))
	}
	return out
}

// passageFormat is the first byte of packed passages.
const passageFormat = 1

// PackPassages encodes the passages of a window whose first message is first. All vectors have the same length. Message
// ids are stored relative to first, so that they stay valid when the window is moved.
func PackPassages(first core.MessageID, list []PassageVector) []byte {
	if len(list) == 0 {
		return nil
	}
	size := len(list[0].Values)
	out := make([]byte, 0, len(list)*(size+8)+4)
	out = binary.AppendUvarint(append(out, passageFormat), uint64(size))
	for _, p := range list {
		out = binary.AppendUvarint(out, uint64(p.Message-first))
		out = binary.AppendUvarint(out, uint64(p.From))
		out = binary.AppendUvarint(out, uint64(p.To-p.From))
		for _, x := range p.Values {
			out = append(out, byte(x))
		}
	}
	return out
}

var errPassages = errors.New("packed passages cannot be read")

// UnpackPassages decodes the output of PackPassages.
func UnpackPassages(first core.MessageID, packed []byte) ([]PassageVector, error) {
	if len(packed) == 0 {
		return nil, nil
	}
	r := unpacker{rest: packed[1:], ok: packed[0] == passageFormat}
	size := r.number()
	if size == 0 || size > core.VectorSize {
		return nil, errPassages
	}
	out := make([]PassageVector, 0, len(packed)/size+1)
	for r.ok && len(r.rest) > 0 {
		p := PassageVector{Message: first + core.MessageID(r.number()), From: r.number()}
		p.To = p.From + r.number()
		p.Values = r.values(size)
		out = append(out, p)
	}
	if !r.ok {
		return nil, errPassages
	}
	return out, nil
}

// unpacker reads packed passages; ok becomes false at the first malformed value.
type unpacker struct {
	rest []byte
	ok   bool
}

// longestPacked bounds the numbers in packed passages.
const longestPacked = 1 << 40

func (u *unpacker) number() int {
	n, size := binary.Uvarint(u.rest)
	if size <= 0 || n > longestPacked {
		u.ok, u.rest = false, nil
		return 0
	}
	u.rest = u.rest[size:]
	return int(n)
}

func (u *unpacker) values(n int) []int8 {
	if len(u.rest) < n {
		u.ok = false
		return nil
	}
	out := make([]int8, n)
	for i, b := range u.rest[:n] {
		out[i] = int8(b)
	}
	u.rest = u.rest[n:]
	return out
}
