package document

import (
	"strings"
	"testing"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/encoding/unicode"

	"github.com/everthread/everthread/core"
)

// TestReader_encodings: a text is read right, or said to be a guess.
func TestReader_encodings(t *testing.T) {
	t.Parallel()
	const (
		russian  = "Привет, это обычный текст на русском языке."
		greek    = "Καλημέρα κόσμε"
		chinese  = "姓名,地址 张三,北京市海淀区"
		sentence = "今日は東京で会議があります。名前と住所を書いてください。"
	)
	wide := func(order unicode.Endianness) encoding.Encoding { return unicode.UTF16(order, unicode.IgnoreBOM) }
	for name, c := range map[string]struct {
		text  string
		in    encoding.Encoding
		guess bool
	}{
		"1252 German":  {"Name;Betrag\nMüller;12,50 €\nGröße;naïve “quotes” – ok", charmap.Windows1252, false},
		"1252 French":  {"Déjà vu à l’école, où l’élève a été reçu.", charmap.Windows1252, false},
		"latin 1":      {"Grüße aus Köln\nÄÖÜ ß", charmap.ISO8859_1, false},
		"1251":         {russian, charmap.Windows1251, false},
		"KOI8-R":       {russian, charmap.KOI8R, false},
		"1253":         {greek, charmap.Windows1253, false},
		"1255":         {"שלום עולם, מה שלומך היום", charmap.Windows1255, false},
		"GBK":          {chinese, simplifiedchinese.GBK, false},
		"Big5":         {"姓名 地址 臺北市信義區", traditionalchinese.Big5, false},
		"EUC-KR":       {"이름,주소 서울특별시 강남구", korean.EUCKR, false},
		"EUC-JP":       {sentence, japanese.EUCJP, false},
		"Shift-JIS":    {sentence, japanese.ShiftJIS, false},
		"UTF-16LE":     {"Name;Müller and more", wide(unicode.LittleEndian), false},
		"UTF-16BE":     {"Name;Müller and more", wide(unicode.BigEndian), false},
		"1250":         {"Łódź;Kraków;żółw", charmap.Windows1250, true},
		"1250 Czech":   {"Příliš žluťoučký kůň úpěl ďábelské ódy", charmap.Windows1250, true},
		"850":          {"Grüße aus Köln", charmap.CodePage850, true},
		"Macintosh":    {"Grüße aus Köln, déjà", charmap.Macintosh, true},
		"latin 9":      {"Preis 12 €, œuvre", charmap.ISO8859_15, true},
		"1256":         {"مرحبا بالعالم", charmap.Windows1256, true},
		"UTF-8":        {russian + greek + chinese, encoding.Nop, false},
		"control code": {"a ﬁne \x1b[31mERROR\x1b[0m boom", encoding.Nop, false},
	} {
		data, err := c.in.NewEncoder().String(c.text)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var got []string
		_, err = read(t.Context(), Source{Name: "a.txt"}, []byte(data), Limits{Pages: 9}, func(p Page) error {
			got = append(got, p.Text)
			return nil
		})
		f := &Fault{}
		if err != nil {
			f = fault(core.DocumentUnread, err)
		}
		want := strings.NewReplacer("\x1b[31m", "", "\x1b[0m", "").Replace(c.text)
		if right := strings.Join(got, "") == want; right == c.guess || c.guess != (f.Problem == core.DocumentGuessed) ||
			!c.guess && err != nil {
			t.Errorf("%s: %q, %q, want %q", name, got, f.Problem, want)
		}
	}
}

// TestReader_badByte: a bad byte in UTF-8 is replaced alone.
func TestReader_badByte(t *testing.T) {
	t.Parallel()
	g := readFile(t, reader(t, nil), "a.txt", []byte(strings.Repeat("good text in UTF-8 éè \xff here and more text\n", 5)))
	if want := strings.TrimSpace(strings.Repeat("good text in UTF-8 éè \uFFFD here and more text\n", 5)); g.problem != "" ||
		strings.Join(g.texts(), "") != want {
		t.Errorf("%q, %q", g.problem, g.texts())
	}
}
