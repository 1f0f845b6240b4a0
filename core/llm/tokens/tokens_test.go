package tokens

import (
	"strings"
	"sync"
	"testing"

	"github.com/tiktoken-go/tokenizer/codec"
)

func TestCount_knownTexts(t *testing.T) {
	t.Parallel()
	counter := New()
	cases := []struct {
		name, text string
		want       int
	}{
		{"empty", "", 0},
		{"one word", "hello", 1},
		{"sentence", "The quick brown fox jumps over the lazy dog.", 10},
		{"French", "Ça va bien aujourd'hui ?", 6},
		{"Chinese", "你好，世界", 3},
		{"emoji", "👋🏽", 4},
		{"a line of spaces", " \n \n/", 2},
		{"delete", "a\x7fb", 3},
		{"special tokens are plain text", "<|endoftext|>", 7},
		{"not UTF-8", "\xff\xfe", 1},
	}
	for _, c := range cases {
		if got := counter.Count(c.text); got != c.want {
			t.Errorf("%s: Count(%q) = %d, want %d", c.name, c.text, got, c.want)
		}
	}
}

func TestCount_withoutGapsIsNeverTooLow(t *testing.T) {
	t.Parallel()
	whole, counter := codec.NewO200kBase(), New()
	for _, unit := range []string{"a", "é", "かな", "1", "!", "aB3-"} {
		text := strings.Repeat(unit, 6*pieceBytes/len(unit))
		want, err := whole.Count(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := counter.Count(text); got < want || got > want+3*7 {
			t.Errorf("%q: Count = %d, want %d or slightly more", unit, got, want)
		}
	}
}

func TestCount_hostileTextStaysLinear(t *testing.T) {
	t.Parallel()
	counter := New()
	for _, unit := range []string{"a", " ", "\n", "!", "é", "漢", "\xff", "1", "aB", " \n"} {
		text := strings.Repeat(unit, (64<<10)/len(unit))
		got := counter.Count(text)
		if got < len(text)/200 || got > len(text) {
			t.Errorf("64 KiB of %q: %d tokens", unit, got)
		}
	}
}

func TestCount_isSafeForConcurrentUse(t *testing.T) {
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

func FuzzCount(f *testing.F) {
	counter := New()
	f.Add("hello world")
	f.Add("\xff\x00 \n")
	f.Add("\x7f\x7f")
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
