package tokens

import (
	"encoding/binary"
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/tiktoken-go/tokenizer/codec"
	"pgregory.net/rapid"

	"github.com/everthread/everthread/internal/fulltest"
)

var update = flag.Bool("update", false, "rewrite o200k_base.bin from the library's vocabulary")

// TestVocabulary_isTheLibrarys checks that o200k_base.bin contains the library's vocabulary.
func TestVocabulary_isTheLibrarys(t *testing.T) {
	t.Parallel()
	want := table(t)
	if *update {
		if err := os.WriteFile("o200k_base.bin", want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if vocabulary != string(want) {
		t.Errorf("o200k_base.bin differs from the library's vocabulary; rewrite it with -update")
	}
}

// table returns the contents of o200k_base.bin.
func table(t *testing.T) []byte {
	library := codec.NewO200kBase()
	out := make([]byte, slotsEnd+placeFirst)
	for id := uint32(0); ; id++ {
		token, err := library.Decode([]uint{uint(id)})
		if err != nil {
			break
		}
		if len(token) > longest {
			t.Fatalf("a token of %d bytes", len(token))
		}
		h, place := hash(token), len(out)-slotsEnd
		slot := h >> (32 - slotBits)
		for binary.LittleEndian.Uint32(out[4*slot:]) != 0 {
			slot = (slot + 1) % (1 << slotBits)
		}
		binary.LittleEndian.PutUint32(out[4*slot:], h<<placeBits|uint32(place))
		out = binary.LittleEndian.AppendUint32(out, id|uint32(len(token))<<24)
		out = append(out, token...)
	}
	if len(out)-slotsEnd >= 1<<placeBits {
		t.Fatal("the vocabulary is too large for its places")
	}
	return out
}

// said is a short text in many languages and in code.
const said = `The QUICK brown fox's "jumps" weren't over I'll; we'D say: it’s 3.14159 or 1,234,567 — naïve café, ÇA VA?
Der Überfluß an Maßnahmen, straße STRASSE; l'été où Noël; ¿Qué tal? ¡Olé! Ўзбекистон Россия, Ελλάδα ΑΒΓ; İstanbul ıssız.
你好，世界。今天天气怎么样？ これはペンです。カタカナ 한국어도 됩니다 ไทยภาษา हिन्दी में लिखना العربيّة עִבְרִית Tiếng Việt ǅ ǈ ʰ ª º
  func main() {` + "\n\t\tfmt.Println(\"x\\n\", a[i]+=1)\r\n\r\n   \n\t }\n" + `  https://example.org/a/b?c=d&e=%20#f //x///
👋🏽👨‍👩‍👧‍👦🇫🇷 ☕️ e` + "\u0301\u0301 \u0301A \u200b\u00a0\u3000\u0085\u2028 ½ Ⅷ ①② ٣٤٥٦" + ` {"key": [null, true, -1.5e-10]} <|endoftext|> 'ſ x'ſ 'S'LL
aAaAbBBb camelCaseHTTPServer snake_case_name ________ ====== ------ ....... !!!??? \\\\ ` + "``` ~~~ \t\t\v\f"

// blank matches a blank line, after which the library's expression starts a new piece too early: it
// goes back to the first line break instead of the last.
var blank = regexp.MustCompile(`[\r\n][\s\v\x{85}\p{Z}]*[^\S\r\n]*[\r\n]`)

// same checks that the count of a text equals the library's. The text must not contain \x7f, which
// the library skips.
func same(t interface {
	Helper()
	Fatalf(string, ...any)
}, library *codec.Codec, text string) {
	t.Helper()
	want, err := library.Count(text)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	got, low := New().Count(text), want
	if blank.MatchString(text) {
		low -= strings.Count(text, "\n") + strings.Count(text, "\r")
	}
	if got > want || got < low {
		t.Fatalf("Count(%q) = %d, want %d", text, got, want)
	}
}

func TestCount_isTheLibrarys(t *testing.T) {
	t.Parallel()
	library := codec.NewO200kBase()
	same(t, library, said)
	runes := []rune(said)
	words := append(strings.Fields(said), "\n", "\r\n", " ", "  ", "\t", " \n ", "\n/", "!\n", "\u00a0", "\u3000")
	rapid.Check(t, func(t *rapid.T) {
		from := rapid.IntRange(0, len(runes)-1).Draw(t, "from")
		same(t, library, string(runes[from:min(len(runes), from+rapid.IntRange(1, 200).Draw(t, "length"))]))
		same(t, library, string(rapid.SliceOfN(rapid.SampledFrom(runes), 1, 30).Draw(t, "characters")))
		same(t, library, strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 1, 20).Draw(t, "words"),
			rapid.SampledFrom([]string{"", " "}).Draw(t, "between")))
		same(t, library, strings.ReplaceAll(rapid.String().Draw(t, "any"), "\x7f", ""))
		same(t, library, strings.ReplaceAll(string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")), "\x7f", ""))
	})
}

// TestCount_everyCharacter counts every character between and after letters, spaces
// and marks.
func TestCount_everyCharacter(t *testing.T) {
	t.Parallel()
	library := codec.NewO200kBase()
	var chunk strings.Builder
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if !utf8.ValidRune(r) || r == 0x7f || r > 0x1ffff && r < 0xe0000 || r > 0xe01ff {
			continue
		}
		chunk.WriteString(strings.ReplaceAll("*x* *A!*\n_**1'*", "*", string(r)))
		if r%64 == 63 {
			if r/64%fulltest.Size[rune](16, 1) == 0 {
				same(t, library, chunk.String())
			}
			chunk.Reset()
		}
	}
}
