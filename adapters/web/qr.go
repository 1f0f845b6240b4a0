package web

import (
	"errors"
	"fmt"
	"html/template"
	"strings"
)

// qrSize is what a version of a QR code holds at the error correction M (ISO/IEC
// 18004): blocks of data with their correction, and where the small squares are.
type qrSize struct {
	correction    int   // code words of correction in each block
	short, length int   // blocks, and their code words of data
	long          int   // blocks of one code word more
	align         []int // centres of the alignment patterns
}

// qrSizes are versions 1 to 10.
var qrSizes = []qrSize{
	{10, 1, 16, 0, nil}, {16, 1, 28, 0, []int{6, 18}}, {26, 1, 44, 0, []int{6, 22}}, {18, 2, 32, 0, []int{6, 26}}, {24, 2, 43, 0, []int{6, 30}},
	{16, 4, 27, 0, []int{6, 34}}, {18, 4, 31, 0, []int{6, 22, 38}}, {22, 2, 38, 2, []int{6, 24, 42}}, {22, 3, 36, 2, []int{6, 26, 46}}, {26, 4, 43, 1, []int{6, 28, 50}},
}

// data is how many code words of data fit.
func (s qrSize) data() int { return (s.short+s.long)*s.length + s.long }

// qr is a QR code under way.
type qr struct {
	version int // from 1
	n       int // modules on a side
	dark    [][]bool
	fixed   [][]bool // it is of a pattern, not of the data
}

var errQRLong = errors.New("the text is too long for a QR code")

// qrSVG is a text as a QR code.
func qrSVG(text string) (template.HTML, error) {
	q, err := newQR(text)
	if err != nil {
		return "", err
	}
	const quiet = 4
	side := q.n + 2*quiet
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="qr" viewBox="0 0 %d %d" width="%d" height="%d" shape-rendering="crispEdges" aria-hidden="true"><path class="qr-paper" d="M0 0h%dv%dH0z"/><path class="qr-ink" d="`, side, side, side*4, side*4, side, side)
	for y, row := range q.dark {
		for x, dark := range row {
			if dark {
				fmt.Fprintf(&b, "M%d %dh1v1h-1z", x+quiet, y+quiet)
			}
		}
	}
	b.WriteString(`"/></svg>`)
	return template.HTML(b.String()), nil //nolint:gosec // numbers only
}

func newQR(text string) (*qr, error) {
	for i, s := range qrSizes {
		count := 8 // bits that count the bytes
		if i+1 >= 10 {
			count = 16
		}
		if (4+count+8*len(text)+7)/8 <= s.data() {
			q := &qr{version: i + 1, n: 17 + 4*(i+1)}
			q.clear()
			q.patterns(s)
			q.place(s.interleave(encodeQR(text, count, s.data())))
			q.mask()
			return q, nil
		}
	}
	return nil, errQRLong
}

// encodeQR is a text as code words: its bytes, with their number before and filling after.
func encodeQR(text string, count, size int) []byte {
	var bits []bool
	put := func(value, n int) {
		for i := n - 1; i >= 0; i-- {
			bits = append(bits, value>>i&1 == 1)
		}
	}
	put(4, 4)
	put(len(text), count)
	for _, c := range []byte(text) {
		put(int(c), 8)
	}
	put(0, min(4, size*8-len(bits)))
	out := make([]byte, (len(bits)+7)/8, size)
	for i, one := range bits {
		if one {
			out[i/8] |= 0x80 >> (i % 8)
		}
	}
	for fill := byte(0xEC); len(out) < size; fill ^= 0xEC ^ 0x11 {
		out = append(out, fill)
	}
	return out
}

// interleave cuts data into blocks, corrects each, and deals them out in turn.
func (s qrSize) interleave(data []byte) []byte {
	var blocks, corrections [][]byte
	for i := range s.short + s.long {
		n := s.length
		if i >= s.short {
			n++
		}
		blocks = append(blocks, data[:n])
		corrections = append(corrections, reedSolomon(data[:n], s.correction))
		data = data[n:]
	}
	return append(deal(blocks), deal(corrections)...)
}

func deal(blocks [][]byte) []byte {
	var out []byte
	for i := range len(blocks[len(blocks)-1]) {
		for _, b := range blocks {
			if i < len(b) {
				out = append(out, b[i])
			}
		}
	}
	return out
}

// reedSolomon returns n code words of correction.
func reedSolomon(data []byte, n int) []byte {
	generator := make([]byte, n)
	generator[n-1] = 1
	root := byte(1)
	for range n {
		for j := range generator {
			generator[j] = times(generator[j], root)
			if j+1 < n {
				generator[j] ^= generator[j+1]
			}
		}
		root = times(root, 2)
	}
	rest := make([]byte, n)
	for _, b := range data {
		factor := b ^ rest[0]
		copy(rest, rest[1:])
		rest[n-1] = 0
		for j := range rest {
			rest[j] ^= times(generator[j], factor)
		}
	}
	return rest
}

// times multiplies in the field of 256 elements with 0x11D.
func times(a, b byte) byte {
	z := 0
	for i := 7; i >= 0; i-- {
		z = z<<1 ^ z>>7*0x11D
		z ^= int(b>>i&1) * int(a)
	}
	return byte(z)
}
