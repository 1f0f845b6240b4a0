package compress_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/chat/compress"
	"github.com/everthread/everthread/internal/fulltest"
)

// codeLine returns a line that looks like code; blocks of such lines are never the same twice.
func codeLine(r *rand.Rand) string {
	name := func() string {
		return []string{"user", "row", "total", "err", "limit", "value", "key", "data", "path", "log", "item", "size", "ctx",
			"page", "list", "token"}[r.IntN(16)] + []string{"", "", "ID", "s", "Of", "Name"}[r.IntN(6)]
	}
	switch r.IntN(7) {
	case 0:
		return fmt.Sprintf("\tif %s == %s {", name(), name())
	case 1:
		return "\t}"
	case 2:
		return "\t\treturn nil, err"
	case 3:
		return fmt.Sprintf("\t%s, err := s.%s(ctx, %s)", name(), name(), name())
	case 4:
		return fmt.Sprintf("func (s *store) %s(%s int64) (%s, error) {", name(), name(), name())
	case 5:
		return fmt.Sprintf("\t%s = append(%s, %d)", name(), name(), r.IntN(100))
	}
	return fmt.Sprintf("\tfor _, %s := range %s {", name(), name())
}

func codeBlock(r *rand.Rand, n int) []string {
	lines := make([]string, n)
	for i := range lines {
		lines[i] = codeLine(r)
	}
	return lines
}

func proseWords(r *rand.Rand, n int) []string {
	words := make([]string, n)
	for i := range words {
		for range 1 + r.IntN(3) {
			words[i] += []string{"ma", "ti", "re", "lo", "sun", "der", "ka", "pen", "vi", "or", "el", "bra"}[r.IntN(12)]
		}
		if r.IntN(9) == 0 {
			words[i] += ","
		}
	}
	return words
}

// TestPrints_findWhatIsSimilar counts the pairs that share a band, of pieces that are at least 85 %
// similar and of unrelated ones.
func TestPrints_findWhatIsSimilar(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 7))
	c := compress.New(counter())
	for _, kind := range []string{"code", "prose"} {
		similar, found, referred := 0, 0, 0
		for range fulltest.Size(150, 600) {
			a, b := similarPair(r, kind)
			if repeats := c.Repeats(b, map[int][]compress.Candidate{0: {{Message: 1, Text: a}}}); len(repeats) == 0 {
				continue
			} else if repeats[0].Diff != "" {
				referred++
			}
			similar++
			if share(prints(c, a), prints(c, b)) {
				found++
			}
		}
		if similar < fulltest.Size(50, 200) || found*100 < similar*98 {
			t.Errorf("%s: found %d of %d similar pieces, want 98 of 100", kind, found, similar)
		}
		t.Logf("%s: found %d of %d similar pieces, %d with a diff", kind, found, similar, referred)
	}
	var all []map[int64]bool
	strangers := fulltest.Size(80, 250)
	for range strangers {
		all = append(all, prints(c, "```\n"+strings.Join(codeBlock(r, 10+r.IntN(60)), "\n")+"\n```"))
	}
	falsely, pairs := 0, strangers*(strangers-1)/2
	for i := range all {
		for j := range i {
			if share(all[i], all[j]) {
				falsely++
			}
		}
	}
	t.Logf("%d of %d unrelated pairs share a band", falsely, pairs)
	if falsely > pairs/20 {
		t.Errorf("%d of %d unrelated pairs share a band, want at most 5 %%", falsely, pairs)
	}
}

// similarPair returns a piece, and the same with a tenth of its lines or a few words changed.
func similarPair(r *rand.Rand, kind string) (a, b string) {
	parts, gap := codeBlock(r, 10+r.IntN(190)), "\n"
	if kind == "prose" {
		parts, gap = proseWords(r, 45+r.IntN(200)), " "
	}
	changed := append([]string{}, parts...)
	changes := max(1, len(parts)/10)
	if kind == "prose" {
		changes = 1 + r.IntN(4)
	}
	for range changes {
		i := r.IntN(len(changed))
		if kind == "code" {
			changed[i] = codeLine(r)
		} else {
			changed[i] = proseWords(r, 1)[0]
		}
	}
	a, b = strings.Join(parts, gap), strings.Join(changed, gap)
	if kind == "code" {
		a, b = "```\n"+a+"\n```", "```\n"+b+"\n```"
	}
	return a, b
}

func prints(c *compress.Compressor, text string) map[int64]bool {
	out := map[int64]bool{}
	for _, p := range c.Prints(&core.Message{Text: text}) {
		out[p.Band] = true
	}
	return out
}

func share(a, b map[int64]bool) bool {
	for band := range a {
		if b[band] {
			return true
		}
	}
	return false
}

func BenchmarkForms(b *testing.B) {
	c := compress.New(counter())
	m := core.Message{ID: 1, Role: core.RoleUser, Text: strings.TrimSpace(
		strings.Repeat(
			"My sister Clara moved to Porto in 2019, she lives at Rua das Flores 12. The weather is nice, and I never go there. ", 3))}
	b.ReportMetric(float64(counter().Count(m.Text)), "tokens")
	for b.Loop() {
		c.Forms(&m, nil)
	}
}

func BenchmarkFindAmong20000(b *testing.B) {
	r := rand.New(rand.NewPCG(3, 3))
	c, x := compress.New(counter()), index{}
	for i := range 20_000 {
		m := core.Message{ID: core.MessageID(i + 1), Text: "```\n" + strings.Join(codeBlock(r, 10+r.IntN(50)), "\n") +
			"\n```"}
		x.add(&m, c.Prints(&m))
	}
	lines := codeBlock(r, 60)
	m := core.Message{ID: 20_001, Text: "```\n" + strings.Join(lines, "\n") + "\n```"}
	x.add(&m, c.Prints(&m))
	lines[20] = "\tpanic(err)"
	m.ID, m.Text = 20_002, "```\n"+strings.Join(lines, "\n")+"\n```"
	if repeats := c.Repeats(m.Text, x.find(c.Prints(&m))); len(repeats) != 1 || repeats[0].Of != 20_001 {
		b.Fatalf("found %v", repeats)
	}
	for b.Loop() {
		c.Repeats(m.Text, x.find(c.Prints(&m)))
	}
}

// TestRepeats_dissimilarIsNone checks pieces that are not shortened although a similar one precedes them.
func TestRepeats_dissimilarIsNone(t *testing.T) {
	t.Parallel()
	c := compress.New(counter())
	r := rand.New(rand.NewPCG(5, 5))
	lines := codeBlock(r, 30)
	block := func(lines []string) string { return "```\n" + strings.Join(lines, "\n") + "\n```" }
	everywhere := make([]string, len(lines))
	some := slices.Clone(lines)
	for i, line := range lines {
		everywhere[i] = line + " // v2"
		if i%8 == 0 {
			some[i] = everywhere[i]
		}
	}
	for name, texts := range map[string][2]string{
		"unrelated":                               {block(lines), block(codeBlock(r, 30))},
		"a word changed everywhere":               {block(lines), block(everywhere)},
		"a word in every eighth line":             {block(lines), block(some)},
		"twice as much":                           {block(lines), block(append(lines, codeBlock(r, 30)...))},
		"code that was prose before":              {strings.Join(lines, "\n"), block(lines)},
		"so short that a reference is no shorter": {"```\nx := 1\n```", "```\nx := 1\n```"},
	} {
		if got := c.Repeats(texts[1], map[int][]compress.Candidate{0: {{Message: 3, Text: texts[0]}}}); len(got) != 0 {
			t.Errorf("%s: got %+v", name, got)
		}
	}
	got := c.Repeats(block(lines), map[int][]compress.Candidate{0: {{Message: 3, Piece: 9, Text: block(lines)},
		{Message: 5, Text: block(everywhere)}, {Message: 4, Text: block(lines)}}, 7: {{Message: 3}}})
	if len(got) != 1 || got[0].Diff != "" || got[0].Of != 4 {
		t.Errorf("of three candidates: got %+v", got)
	}
}
