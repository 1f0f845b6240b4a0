package tokens

import (
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/tiktoken-go/tokenizer/codec"
	"pgregory.net/rapid"
)

func TestCountKnownTexts(t *testing.T) {
	t.Parallel()
	counter := New()
	cases := []struct {
		name, text string
		want       int
	}{
		{"empty", "", 0},
		{"one word", "hello", 1},
		{"sentence", "The quick brown fox jumps over the lazy dog.", 10},
		{"French", "Ça va bien aujourd'hui ?", 7},
		{"Chinese", "你好，世界", 3},
		{"emoji", "👋🏽", 3},
		{"special tokens are plain text", "<|endoftext|>", 7},
		{"not UTF-8", "\xff\xfe", 2},
	}
	for _, c := range cases {
		if got := counter.Count(c.text); got != c.want {
			t.Errorf("%s: Count(%q) = %d, want %d", c.name, c.text, got, c.want)
		}
	}
}

func TestCountLongTextWithWordsIsExact(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("It rained all day, so we stayed in and read. Même le chat, 3 fois! ", 700)
	want, err := codec.NewO200kBase().Count(text)
	if err != nil {
		t.Fatal(err)
	}
	if got := New().Count(text); got != want {
		t.Errorf("Count = %d, want %d", got, want)
	}
}

func TestCountHostileTextStaysLinear(t *testing.T) {
	t.Parallel()
	counter := New()
	for _, unit := range []string{"a", " ", "\n", "!", "é", "漢", "\xff", "1", "aB", " \n"} {
		text := strings.Repeat(unit, (1<<20)/len(unit))
		got := counter.Count(text)
		if got < len(text)/200 || got > len(text) {
			t.Errorf("1 MiB of %q: %d tokens", unit, got)
		}
	}
}

func TestCountIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	counter := New()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if got := counter.Count("one two three"); got != 3 {
				t.Errorf("Count = %d, want 3", got)
			}
		})
	}
	wg.Wait()
}

func TestBoundaryCutsBetweenRunes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		prefix := rapid.StringN(0, 8, -1).Draw(t, "prefix")
		unit := rapid.StringN(1, 12, -1).Draw(t, "unit")
		text := prefix + strings.Repeat(unit, 2*pieceBytes)
		end := boundary(text)
		if end < pieceBytes/2 || end > pieceBytes || !utf8.ValidString(text[:end]) {
			t.Fatalf("boundary at %d of %d bytes", end, len(text))
		}
	})
}

func FuzzCount(f *testing.F) {
	counter := New()
	f.Add("hello world")
	f.Add("\xff\x00 \n")
	f.Add(strings.Repeat("x", pieceBytes+1))
	f.Fuzz(func(t *testing.T, text string) {
		if got := counter.Count(text); got < 0 || got > len(text) || got == 0 && text != "" {
			t.Errorf("Count of %d bytes = %d", len(text), got)
		}
	})
}

func BenchmarkCount(b *testing.B) {
	counter := New()
	text := "I moved the dentist to Thursday; can you remind me the evening before? Merci !"
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		counter.Count(text)
	}
}
