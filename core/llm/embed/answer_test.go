package embed

import (
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestHead_keepsWholeCharacters(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text, n := rapid.String().Draw(t, "text"), rapid.IntRange(0, 30).Draw(t, "n")
		got := head(text, n)
		if want := min(n, utf8.RuneCountInString(text)); utf8.RuneCountInString(got) != want || text[:len(got)] != got {
			t.Fatalf("head %q of %q", got, text)
		}
	})
	if got := head("a\xffb", 5); got != "a\uFFFDb" {
		t.Errorf("got %q", got)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`{"data":[{"index":0,"embedding":[1,2]}]}`, `{"embeddings":[[1],[2]]}`, `[[1,2]]`, `["AACAPw=="]`,
		`{"embedding":[1]}`, `[{"index":0,"embedding":[[1]]}]`, `{"results":[{"embedding":[1]}]}`,
		`{"data":[{"index":-1,"embedding":[1]}]}`, `[[1e39]]`, `[[NaN]]`, `[null]`, `{"data":[{}]}`, `[[[[]]]]`, `<html>`, ``,
	} {
		f.Add([]byte(s))
	}
	c := &client{}
	f.Fuzz(func(t *testing.T, body []byte) {
		vectors, err := parse(body)
		if err != nil || c.measure(vectors) != nil {
			return
		}
		if len(vectors) == 0 {
			t.Fatal("neither vectors nor an error")
		}
		for _, v := range vectors {
			if !usable(v) || len(v) != len(vectors[0]) || len(v) > 1024 {
				t.Fatalf("vector %v passed", v)
			}
		}
	})
}
