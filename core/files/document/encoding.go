package document

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/wlynxg/chardet"
	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/unicode"
)

// decoded returns a text of any encoding in UTF-8, and notes if the encoding is a guess.
func (s *sink) decoded(data []byte, media string) string {
	if len(data) > 2*maxText {
		data = data[:2*maxText]
	}
	e, name, certain := charset.DetermineEncoding(data[:min(len(data), 1024)], media)
	stated := media == "text/html" && name != "windows-1252" && name != "utf-8"
	switch {
	case wide(data) != nil:
		e = wide(data)
	case certain || stated:
	case mostlyUTF8(data):
		return strings.ToValidUTF8(string(data), "\uFFFD")
	default:
		var sure bool
		e, sure = guess(data)
		s.guessed = s.guessed || !sure
	}
	out, err := e.NewDecoder().Bytes(data)
	if err != nil {
		out = data
	}
	return strings.ToValidUTF8(string(bytes.TrimPrefix(out, []byte("\uFEFF"))), "\uFFFD")
}

// mostlyUTF8 reports whether a text is UTF-8, up to fewer broken bytes than whole letters beyond ASCII.
func mostlyUTF8(data []byte) bool {
	broken, whole := 0, 0
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			broken++
		case n > 1:
			whole++
		}
		i += n
	}
	return broken == 0 || whole > broken
}

// wide returns the encoding of a text in UTF-16 without a mark, which has zeros beside most of its letters; else nil.
func wide(data []byte) encoding.Encoding {
	head := data[:min(len(data), 4096)]
	var zeros [2]int
	for i, c := range head {
		if c == 0 {
			zeros[i%2]++
		}
	}
	switch few, many := len(head)/50, len(head)*3/10; {
	case len(head) < 4 || zeros[0]+zeros[1] < many:
		return nil
	case zeros[0] <= few:
		return unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)
	case zeros[1] <= few:
		return unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)
	}
	return nil
}

// enough is the number of bytes beyond which more text does not help to detect its encoding.
const enough = 32 << 10

// guess returns the encoding of a text that is not UTF-8, and whether it is sure. Where nothing is known, it is the
// western one; that is sure if it makes sense.
func guess(data []byte) (e encoding.Encoding, sure bool) {
	var sample []byte
	for line := range bytes.Lines(data) {
		if bytes.ContainsFunc(line, func(r rune) bool { return r >= utf8.RuneSelf }) {
			sample = append(sample, line[:min(len(line), enough)]...)
		}
		if len(sample) > enough {
			break
		}
	}
	if kana(sample) {
		return japanese.ShiftJIS, true
	}
	got := chardet.Detect(sample)
	if got.Encoding == "MacCyrillic" { // it is hardly ever used, and few letters differ
		got.Encoding = "windows-1251"
	}
	if found, _ := charset.Lookup(got.Encoding); found != nil && got.Confidence >= 0.9 {
		return found, true
	}
	return charmap.Windows1252, western(sample)
}

// kana reports whether a text is Japanese if read as Shift-JIS, which the detector does not know.
func kana(data []byte) bool {
	text, err := japanese.ShiftJIS.NewDecoder().Bytes(data)
	letters, wide := 0, 0
	for _, r := range string(text) {
		if r >= utf8.RuneSelf {
			wide++
		}
		if r >= 'ぁ' && r <= 'ヿ' { // half-width ones are what other encodings look like
			letters++
		}
	}
	return err == nil && letters*4 >= wide && letters > 0 && !bytes.ContainsRune(text, utf8.RuneError)
}

// western reports whether a text read as Windows-1252 is mostly of plain letters, and the others are usual in western
// languages.
func western(data []byte) bool {
	const usual = "ÀÁÂÄÅÇÈÉÊÍÎÑÓÔÖØÚÜßàáâãäåæçèéêëìíîïñòóôõöøùúûüœ¡¿«»‘’‚“”„–—…•€°§´©®\u00A0"
	letters, others := 0, 0
	for _, c := range data {
		switch {
		case c >= utf8.RuneSelf && !strings.ContainsRune(usual, charmap.Windows1252.DecodeByte(c)):
			return false
		case c >= utf8.RuneSelf:
			others++
		case c|0x20 >= 'a' && c|0x20 <= 'z':
			letters++
		}
	}
	return letters > others
}
