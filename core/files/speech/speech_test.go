package speech_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/files/speech"
)

func TestText_speaksMarkupAsWords(t *testing.T) {
	t.Parallel()
	const code = "There is something to read here: see the text."
	for _, c := range []struct{ name, markdown, want string }{
		{"emphasis", "**Good** *morning*, `Ada`!", "Good morning, Ada!"},
		{"headings and lists", "## Lunch\n\n- soup\n- bread, *warm*\n\n1. eat", "Lunch.\nsoup.\nbread, warm.\n1. eat."},
		{"code", "Run this:\n\n```sh\nrm -rf x\n```\n\nThen wait.", "Run this:\n" + code + "\nThen wait."},
		{"a table", "Prices:\n\n| a | b |\n|---|---|\n| 1 | 2 |", "Prices:\n" + code},
		{"addresses", "See [the page](https://example.org/x) or https://example.org/?a=1.", "See the page or a link."},
		{"references", "You said so [#12, #13].", "You said so."},
		{"rules and signs", "One.\n\n---\n\n✅\n\n☐ two", "One.\ntwo."},
		{"emoji", "Done ✅ ⚙️ great 🎉👨‍👩‍👧 → next ──── box ┌─┐ 1️⃣ 🇩🇪.", "Done great next box 1."},
		{"an emoji at the end", "Well done 🎉", "Well done."},
		{"formulas", "The area is $\\pi r^2$ and 3 * 4 = 12, 5~6 days.", "The area is a formula and 3 * 4 = 12, 5~6 days."},
		{"more formulas", "So \\(a+b\\), $$c$$ and $x$.", "So a formula, a formula and a formula."},
		{"money", "It costs $5 or $10, not US$ 3.", "It costs $5 or $10, not US$ 3."},
		{"units", "It is 21 °C, 3.5 %, €12.50, 1/2 cup, #5, A&B, 2 × 3 < 7.",
			"It is 21 °C, 3.5 %, €12.50, 1/2 cup, #5, A&B, 2 × 3 < 7."},
		{"tags", "a <b>b</b> <u>c</u> <br> d &amp; e, if 1 < 2 > 0", "a b c.\nd & e, if 1 < 2 > 0."},
		{"joined references", "You said so [#12] and [#13, #14]. Also und so [#1], [#2] und [#3].",
			"You said so. Also und so."},
		{"code alone", "```\nx\n```", ""},
		{"nothing", "  \n", ""},
		{"other scripts", "**早上好**。今天有雨", "早上好。今天有雨."},
	} {
		if got := speech.Text(c.markdown, "en", 2000); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
	if got := speech.Text("Siehe https://example.org", "de", 2000); got != "Siehe ein Link." {
		t.Errorf("German: got %q", got)
	}
}

func TestText_cutsALongAnswer(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("It rains in Spain. ", 400)
	got := speech.Text(long, "en", 300)
	if n := utf8.RuneCountInString(got); n > 300 || n < 200 || !strings.HasSuffix(got, "in Spain.\nThe rest is in the text.") {
		t.Errorf("%d characters: %q", n, got)
	}
}

func FuzzText(f *testing.F) {
	f.Add("# a\n\n```x\n```\n\n| a |\n|---|\n| b |\n\nhttps://x.org [#1]", 100)
	f.Fuzz(func(t *testing.T, markdown string, most int) {
		if most < 100 || most > 5000 {
			return
		}
		got := speech.Text(markdown, "en", most)
		if utf8.RuneCountInString(got) > most || !utf8.ValidString(got) {
			t.Errorf("%d characters of %q: %q", most, markdown, got)
		}
	})
}

// says is a service with a fixed answer.
type says struct {
	data []byte
	err  error
}

func (s says) Speak(context.Context, core.Speech) ([]byte, error) { return s.data, s.err }

func TestRecord_takesOnlySound(t *testing.T) {
	t.Parallel()
	file := func(name string) []byte {
		data, err := os.ReadFile("../media/testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	spoken := file("speech.ogg")
	got, err := speech.Record(t.Context(), says{data: spoken}, core.Speech{Text: "x"})
	if err != nil || got.MIME != "audio/ogg" || got.Duration.Milliseconds() != 2363 || len(got.Data) != len(spoken) {
		t.Errorf("speech: %s of %s, %v", got.MIME, got.Duration, err)
	}
	got, err = speech.Record(t.Context(), says{data: []byte("\xFF\xFB\x90\x64frame")}, core.Speech{Text: "x"})
	if err != nil || got.MIME != "audio/mpeg" {
		t.Errorf("MP3: %+v, %v", got, err)
	}
	for want, s := range map[string]says{
		"answered with nothing":               {},
		"answered with text/html":             {data: []byte("<!doctype html><title>Sign in</title>")},
		"answered with text/plain":            {data: []byte(`{"error":"no"}`)},
		"answered with audio/wave":            {data: []byte("RIFF\x24\x00\x00\x00WAVEfmt ")},
		"the recording is silent":             {data: file("silence.ogg")},
		"cannot be used: the OGG file is cut": {data: spoken[:len(spoken)-100]},
		"gone":                                {err: errors.New("gone")},
	} {
		_, err := speech.Record(t.Context(), s, core.Speech{Text: "x"})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
