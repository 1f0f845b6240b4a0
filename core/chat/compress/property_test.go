package compress_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/chat/compress"
	"github.com/everthread/everthread/core/store"
)

// part is a piece of a generated message.
type part struct {
	text  string
	fixed bool // a quote or code, which is never altered
}

func drawPart(t *rapid.T) part {
	prose := rapid.SampledFrom([]string{
		"My sister Clara moved to Porto in 2019.", "The weather is nice.", "Je déteste la coriandre !",
		"I never said that, did I?", "We'll take the 7:42 to Gdansk on Friday.", "ok", "merci, à demain",
		"昨日、東京に引っ越しました。天気がいいですね。", "It costs 1,284.50 euros... maybe more",
		"This is a sentence that goes on and on, with a pause here, another pause there, the code 48B12, a few names like Maël and Ingrid, and then some more words, so that nobody could possibly read it in one breath, which is the point of it, after all, or is it not",
	})
	switch rapid.IntRange(0, 5).Draw(t, "kind") {
	case 0:
		lines := rapid.SliceOfN(rapid.SampledFrom([]string{"x := 1", "\tif err != nil {", "", "    return nil", "SELECT 1;",
			"# **note**", "> no quote", "\"s\""}), 1, 30).Draw(t, "code")
		return part{"```go\n" + strings.Join(lines, "\n") + "\n```", true}
	case 1:
		return part{"> " + prose.Draw(t, "quoted") + "\n> second line", true}
	case 2:
		marks := rapid.SampledFrom([][2]string{{"\"", "\""}, {"“", "”"}, {"« ", " »"}, {"「", "」"}}).Draw(t, "marks")
		return part{marks[0] + "never touch the old one. Please" + marks[1], true}
	case 3:
		return part{"- " + prose.Draw(t, "item"), false}
	}
	return part{prose.Draw(t, "prose"), false}
}

func drawMessage(t *rapid.T) (core.Message, []part) {
	parts := rapid.SliceOfN(rapid.Custom(drawPart), 1, 12).Draw(t, "parts")
	var b strings.Builder
	for i, p := range parts {
		if i > 0 {
			gap := "\n\n"
			if !strings.HasPrefix(p.text, "```") && !strings.HasPrefix(p.text, ">") && !strings.HasPrefix(p.text, "-") &&
				!strings.HasSuffix(parts[i-1].text, "```") && !strings.Contains(parts[i-1].text, "\n") &&
				rapid.Bool().Draw(t, "same line") {
				gap = " "
			}
			b.WriteString(gap)
		}
		b.WriteString(p.text)
	}
	return core.Message{ID: 17, Role: core.RoleUser, Kind: core.KindChat, Text: b.String()}, parts
}

// TestForms_neverAlterQuotesAndCode checks that a form has the user's quotes and code blocks byte
// for byte, or a mark, which is only in the shortest.
func TestForms_neverAlterQuotesAndCode(t *testing.T) {
	t.Parallel()
	c := compress.New(counter())
	rapid.Check(t, func(t *rapid.T) {
		m, parts := drawMessage(t)
		for tier, f := range c.Forms(&m, nil) {
			for _, p := range parts {
				if tier == 0 || !p.fixed || strings.Contains(f.Text, p.text) {
					continue
				}
				if tier < int(store.TierKernel) {
					t.Fatalf("tier %d lost %q:\n%s\n--- of\n%s", tier, p.text, f.Text, m.Text)
				}
				if f.Text != "" && !strings.Contains(f.Text, "see #17]") && !strings.Contains(f.Text, "…") {
					t.Fatalf("the kernel lost %q without a mark:\n%s\n--- of\n%s", p.text, f.Text, m.Text)
				}
			}
		}
	})
}

// TestForms_shrink checks that no form is longer than the one before, that tokens are counted
// correctly, and that equal messages have equal forms.
func TestForms_shrink(t *testing.T) {
	t.Parallel()
	c := compress.New(counter())
	rapid.Check(t, func(t *rapid.T) {
		m, _ := drawMessage(t)
		m.Role = rapid.SampledFrom([]core.Role{core.RoleUser, core.RoleAssistant, core.RoleTool}).Draw(t, "role")
		forms := c.Forms(&m, nil)
		most := counter().Count(m.Text)
		for tier := store.TierOlder; tier <= store.MaxTier; tier++ {
			f := forms[tier]
			if f.Tokens != count(f.Text) || f.Tokens > most {
				t.Fatalf("tier %d: %d tokens, counted %d, at most %d\n%s", tier, f.Tokens, count(f.Text), most, f.Text)
			}
			if (f.State == compress.Raw) != (f.Text == m.Text) {
				t.Fatalf("tier %d has state %s", tier, f.State)
			}
			most = f.Tokens
		}
		if again := c.Forms(&m, nil); again != forms {
			t.Fatalf("forms differ the second time: %v, then %v", forms, again)
		}
	})
}

func count(text string) int {
	if text == "" {
		return 0
	}
	return counter().Count(text)
}

var numbers = regexp.MustCompile(`[0-9][0-9.,:]*[0-9]|[0-9]`)

// TestForms_inventNothing checks that every number in a form is in its message.
func TestForms_inventNothing(t *testing.T) {
	t.Parallel()
	c := compress.New(counter())
	rapid.Check(t, func(t *rapid.T) {
		m, _ := drawMessage(t)
		m.Role = rapid.SampledFrom([]core.Role{core.RoleUser, core.RoleAssistant}).Draw(t, "role")
		forms := c.Forms(&m, nil)
		for tier := store.TierOlder; tier <= store.MaxTier; tier++ {
			text := marks.ReplaceAllString(forms[tier].Text, "")
			for _, n := range numbers.FindAllString(text, -1) {
				if !strings.Contains(m.Text, n) {
					t.Fatalf("%s is in tier %d but not in the message:\n%s\n--- of\n%s", n, tier, text, m.Text)
				}
			}
		}
	})
}

var marks = regexp.MustCompile(`\[cut: \d+ lines, see #17\]`)

// TestRepeats_giveThePieceBack checks that the diff of a repeat, applied to the original, yields the
// piece.
func TestRepeats_giveThePieceBack(t *testing.T) {
	t.Parallel()
	c := compress.New(counter())
	rapid.Check(t, func(t *rapid.T) {
		old := rapid.SliceOfN(rapid.StringMatching(`[a-z-]{1,8}( [a-z=+-]{1,9}){1,5}`), 8, 60).Draw(t, "lines")
		changed := append([]string{}, old...)
		for range rapid.IntRange(0, 2).Draw(t, "changes") {
			i := rapid.IntRange(0, len(changed)-1).Draw(t, "at")
			switch rapid.IntRange(0, 2).Draw(t, "how") {
			case 0:
				changed[i] += " -- x"
			case 1:
				changed = append(changed[:i:i], changed[i+1:]...)
			default:
				changed = append(changed[:i:i], append([]string{"-- new"}, changed[i:]...)...)
			}
		}
		asProse := rapid.Bool().Draw(t, "prose")
		a, b := fenced(old), fenced(changed)
		if asProse {
			a, b = strings.Join(old, ", "), strings.Join(changed, ", ")
		}
		for _, r := range c.Repeats("see here:\n\n"+b, map[int][]compress.Candidate{1: {{Message: 42, Piece: 0, Text: a}}}) {
			checkRepeat(t, r, a, b)
			m := core.Message{ID: 50, Role: core.RoleUser, Text: "see here:\n\n" + b}
			f := c.Forms(&m, []compress.Repeat{r})[store.TierOlder]
			if f.State != compress.Reference || !strings.Contains(f.Text, "message #42") {
				t.Fatalf("got form %+v, want a reference", f)
			}
		}
	})
}

func checkRepeat(t *rapid.T, r compress.Repeat, a, b string) {
	if r.Diff == "" {
		if a != b {
			t.Fatalf("counted as equal: %q, %q", a, b)
		}
		return
	}
	got := patch(a, r.Diff)
	if !strings.Contains(a+b, "\n") {
		got = strings.ReplaceAll(patch(compress.ClauseLines(a), r.Diff), "\n", "")
	}
	if got != b {
		t.Fatalf("%q patched with\n%s\nis %q, want %q", a, r.Diff, got, b)
	}
}

func fenced(lines []string) string { return "```\n" + strings.Join(lines, "\n") + "\n```" }

var hunkHead = regexp.MustCompile(`^@@ -(\d+)`)

// patch applies a unified diff to a text.
func patch(text, diff string) string {
	lines, out, at := strings.Split(text, "\n"), []string{}, 0
	for line := range strings.SplitSeq(diff, "\n") {
		if h := hunkHead.FindStringSubmatch(line); h != nil {
			n, _ := strconv.Atoi(h[1])
			for ; at < n-1 && at < len(lines); at++ {
				out = append(out, lines[at])
			}
			continue
		}
		if line == "" {
			return fmt.Sprintf("a line without a sign in %q", diff)
		}
		switch line[0] {
		case '+':
			out = append(out, line[1:])
		case '-':
			if at >= len(lines) || lines[at] != line[1:] {
				return fmt.Sprintf("no %q at %d", line[1:], at)
			}
			at++
		case ' ':
			out, at = append(out, line[1:]), at+1
		}
	}
	return strings.Join(append(out, lines[min(at, len(lines)):]...), "\n")
}

// TestForms_repeats checks the forms of a message with two repeats.
func TestForms_repeats(t *testing.T) {
	t.Parallel()
	c := compress.New(counter())
	file := "```go\n" + strings.Repeat("func f() error {\n\treturn g()\n}\n\n", 8) + "```"
	old := core.Message{ID: 42, Role: core.RoleUser, Text: "My file:\n\n" + file}
	text := "Now with tests, we ship on 3 May:\n\n" + strings.Replace(file, "g()", "h()", 1) + "\n\nand again\n\n" + file
	m := core.Message{ID: 50, Role: core.RoleUser, Text: text}
	candidates := map[int][]compress.Candidate{1: {{Message: 42, Piece: 1, Text: old.Text}},
		3: {{Message: 42, Piece: 1, Text: old.Text}}}
	forms := c.Forms(&m, c.Repeats(text, candidates))
	older := forms[store.TierOlder]
	if older.State != compress.Reference {
		t.Errorf("got form %+v", older)
	}
	for _, want := range []string{"[similar to message #42, with these changes:]\n```diff\n@@ -",
		"\n-\treturn g()\n+\treturn h()\n", "[same as in message #42]", "Now with tests"} {
		if !strings.Contains(older.Text, want) {
			t.Errorf("%q is not in\n%s", want, older.Text)
		}
	}
	if kernel := forms[store.TierKernel].Text; !strings.Contains(kernel, "3 May") || !strings.Contains(kernel, "…") {
		t.Errorf("got kernel %q", kernel)
	}
}

// TestFit_usersWordsLast checks that a user's message is whole until the assistant's are as short as possible.
func TestFit_usersWordsLast(t *testing.T) {
	t.Parallel()
	c := compress.New(counter())
	text := "Your flat in Ghent costs 1,800 euros a month, and I booked the visit on 3 May at 9:45 with Mrs Claes. " +
		strings.Repeat("There is much to say about flats, and the weather is nice. ", 12) + "I decided to take the train at 7:42."
	user := c.Forms(&core.Message{ID: 1, Role: core.RoleUser, Text: text}, nil)
	assistant := c.Forms(&core.Message{ID: 2, Role: core.RoleAssistant, Text: text}, nil)
	if user[store.TierOlder].Text != text || user[store.TierPoints].Text != text ||
		user[store.TierLight].Tokens >= user[store.TierPoints].Tokens ||
		user[store.TierKernel].Tokens > user[store.TierLight].Tokens {
		t.Errorf("the user's: %+v", user)
	}
	if assistant[store.TierOlder].Tokens >= count(text)/2 || assistant[store.TierPoints].Text == "" ||
		assistant[store.TierPoints].Tokens >= assistant[store.TierOlder].Tokens ||
		assistant[store.TierKernel] != assistant[store.TierPoints] {
		t.Errorf("the assistant's: %+v", assistant)
	}
}
