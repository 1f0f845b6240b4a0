package markup

import (
	"fmt"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"strings"
	"testing"
	"time"
)

func TestZZ(t *testing.T) {
	md := goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.Linkify))
	_ = parser.NewContext
	for _, s := range []string{">", "> ", "- ", "1. ", "[", "![", "*a ", "*a **b ", "**", "_a", "`", "`a``b```c````d", "<", "<a ", "<!--", "<?", "[a](", "[a]", "[a]: b\n", "|", "|a|b\n|-|-\n", "a|", "a@b.c", "http://", "www.", "&", "\\", "~~", "~", "* a\n", "  * a\n", "*\n", ">a\n>>b\n", "# ", "```\n", "    a\n", "[a][", "](", "(((((", "[](", "[]((", "<http:", "a\n", "\n", "- a\n\n", "*_", "a**b*", "[x](<", "https://a.b/((", "a.a.a@", "\x00", "]", "x\\[", "[a](b \"", "- [ ] ", "||\n", "\t", "> - ", "\"'"} {
		var ts []string
		for _, n := range []int{8 << 10, 16 << 10, 32 << 10} {
			in := []byte(strings.Repeat(s, n/len(s)))
			t0 := time.Now()
			md.Parser().Parse(text.NewReader(in))
			d := time.Since(t0)
			ts = append(ts, d.Round(100*time.Microsecond).String())
			if d > 2*time.Second {
				break
			}
		}
		fmt.Printf("%q %v\n", s, ts)
	}
}
