package compress_test

import (
	"os"
	"strings"
	"testing"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/chat/compress"
	"github.com/everthread/everthread/core/chat/compress/compresstest"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/internal/fulltest"
)

// TestUnseenFacts puts each fact of testdata/unseen.txt into several messages of another year than
// TestYear's, and checks how many the kernels keep.
func TestUnseenFacts(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/unseen.txt")
	if err != nil {
		t.Fatal(err)
	}
	c, ms := compress.New(counter()), compresstest.Year(9, nil)
	said, kept := map[core.Role]int{}, map[core.Role]int{}
	i := 0
	for line := range strings.Lines(string(data)) {
		parts := strings.Split(strings.TrimSpace(line), " | ")
		if len(parts) != 3 {
			continue
		}
		role := core.Role(parts[0])
		for n := range fulltest.Size(2, 8) {
			for i++; ms[i].Role != role || strings.Contains(ms[i].Text, "```"); i++ {
			}
			m := ms[i]
			m.Text = insert(m.Text, parts[1], n)
			said[role]++
			if strings.Contains(c.Forms(&m, nil)[store.TierKernel].Text, parts[2]) {
				kept[role]++
			}
		}
	}
	t.Logf("kept %v of %v", kept, said)
	if kept[core.RoleUser]*100 < said[core.RoleUser]*89 || kept[core.RoleAssistant]*100 < said[core.RoleAssistant]*79 {
		t.Errorf("kept %v of %v, want 89 and 79 of 100", kept, said)
	}
}

// insert puts a sentence at the end, the start or in the middle of a text.
func insert(text, sentence string, n int) string {
	switch at := strings.Index(text, ". "); {
	case n%3 == 1:
		return sentence + "\n\n" + text
	case n%3 == 2 && at > 0:
		return text[:at+1] + " " + sentence + text[at+1:]
	}
	return text + "\n" + sentence
}
