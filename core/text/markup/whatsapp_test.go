package markup

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestWhatsApp(t *testing.T) {
	t.Parallel()
	for md, want := range map[string]string{
		"plain":                               "plain",
		"**bold** and *italic* and ~~gone~~":  "*bold* and _italic_ and ~gone~",
		"***both***":                          "_*both*_",
		"# Heading":                           "*Heading*",
		"# Heading with **bold**":             "*Heading with bold*",
		"in**side**words":                     "insidewords",
		"say `x*y*z` now":                     "say `x*y*z` now",
		"``a ` b``":                           "```a ` b```",
		"```go\nfunc f() {}\n```":             "```func f() {}```",
		"```\na ``` b\n```":                   "```a ˋˋˋ b```",
		"[text](https://a.example/b_c_d)":     "text (https://a.example/b_c_d)",
		"[**text**](https://a.example)":       "*text* (https://a.example)",
		"<https://a.example>":                 "https://a.example",
		"[a.example](https://a.example/)":     "a.example",
		"> quoted\n> twice":                   "> quoted\n> twice",
		"> **bold**\n\nnot":                   "> *bold*\n\nnot",
		"2*3*4 = 24":                          "2∗3∗4 = 24",
		"a * b * c":                           "a * b * c",
		"snake_case_name":                     "snake_case_name",
		"5 * 6 is **thirty**":                 "5 * 6 is *thirty*",
		"x*y is **much**":                     "x∗y is *much*",
		"see https://a.example/_x_/~y~ there": "see https://a.example/_x_/~y~ there",
		"about \\~5 or \\~6":                  "about ~5 or ~6",
		"\\~so\\~":                            "∼so∼",
		"one \\* only":                        "one * only",
		"\\_emphasis\\_ of **mine**":          "ˍemphasisˍ of *mine*",
		"**注意：**请 **5 €**pro **(a)**, b":      "注意：请 5 €pro *(a)*, b",
		"\\`not code\\`":                      "ˋnot codeˋ",
	} {
		if got := WhatsApp(Parse(md), 0); got != want {
			t.Errorf("%q:\n got %q\nwant %q", md, got, want)
		}
	}
}

// TestWhatsApp_dropsWhatDoesNotFit checks that styles are dropped first, then code marks, then
// URLs.
func TestWhatsApp_dropsWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	text := Parse("**bold** `code` [link](https://a.example)")
	for max, want := range map[int]string{
		0:  "*bold* `code` link (https://a.example)",
		38: "*bold* `code` link (https://a.example)",
		37: "bold `code` link (https://a.example)",
		35: "bold code link (https://a.example)",
		33: "*bold* `code` link",
		14: "bold code link",
		5:  "bold code link",
	} {
		if got := WhatsApp(text, max); got != want {
			t.Errorf("%d: got %q, want %q", max, got, want)
		}
	}
}

// TestWhatsApp_keepsTextWithinLimit checks that no part exceeds the limit and no text is lost,
// whatever a model writes.
func TestWhatsApp_keepsTextWithinLimit(t *testing.T) {
	t.Parallel()
	piece := rapid.SampledFrom([]string{
		"word", " ", "\n", "\n\n", "**", "*", "_", "~~", "~", "`", "```\n", "# ", "> ", "- ", "1. ", "🙂", "é", "漢字",
		"[a](https://a.example/x)", "https://b.example/_c_", "2*3", "<b>", "\\", "|", "\t",
	})
	rapid.Check(t, func(t *rapid.T) {
		md := strings.Join(rapid.SliceOfN(piece, 0, 60).Draw(t, "pieces"), "")
		size := rapid.IntRange(8, 60).Draw(t, "part")
		max := size + rapid.IntRange(0, 20).Draw(t, "room")
		for _, p := range Split(Parse(md), size, UTF16Len) {
			if UTF16Len(p.Text) > max { // a single grapheme longer than a part
				continue
			}
			got := WhatsApp(p, max)
			if n := UTF16Len(got); n > max {
				t.Fatalf("%d units, at most %d: %q", n, max, got)
			}
			if !contains(got, p.Text) {
				t.Fatalf("text %q is not complete in %q", p.Text, got)
			}
		}
	})
}

// contains reports whether the characters of text are in s in order. Look-alikes count as their
// originals.
func contains(s, text string) bool {
	same := strings.NewReplacer("*", "∗", "_", "ˍ", "~", "∼", "`", "ˋ")
	rest := []rune(same.Replace(text))
	for _, r := range same.Replace(s) {
		if len(rest) > 0 && r == rest[0] {
			rest = rest[1:]
		}
	}
	return len(rest) == 0
}

func FuzzWhatsApp(f *testing.F) {
	f.Add("**a** `b` [c](https://d.example) 2*3*4\n> e", 40)
	f.Fuzz(func(t *testing.T, md string, max int) {
		text := Parse(md)
		if got := WhatsApp(text, max); !contains(got, text.Text) || max > 0 && UTF16Len(got) > max &&
			UTF16Len(text.Text) <= max {
			t.Errorf("%q in at most %d units: got %q", text.Text, max, got)
		}
	})
}
