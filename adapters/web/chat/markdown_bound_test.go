package chat

import (
	"fmt"
	"strings"
	"testing"

	"github.com/everthread/everthread/core/text/markup"
)

// TestMarkdown_doesNotExplode checks that output is at most a constant factor longer than its text.
func TestMarkdown_doesNotExplode(t *testing.T) {
	t.Parallel()
	table := func(columns, rows int, row string) string {
		return strings.Repeat("|a", columns) + "|\n" + strings.Repeat("|-", columns) + "|\n" + strings.Repeat(row, rows)
	}
	long := "https://example.org/" + strings.Repeat("x", 6_000)
	for name, md := range map[string]string{
		"short rows of a wide table": table(190, 1_500, "b\n"),
		"a table in a quote":         strings.ReplaceAll("\n"+table(190, 1_500, "b\n"), "\n", "\n> "),
		"a table in a list":          strings.ReplaceAll("\n"+table(190, 1_500, "b\n"), "\n", "\n  "),
		"many tables":                strings.Repeat(table(30, 20, "b\n")+"\n", 100),
		"a definition used often":    "[a]: " + long + "\n\n" + strings.Repeat("[a] ", 10_000),
		"a definition on two lines":  "[a]:\n" + long + "\n\n" + strings.Repeat("[a]\n", 10_000),
		"an image used often":        "[a]: " + long + "\n\n" + strings.Repeat("![][a] ", 10_000),
		"quotes in quotes":           strings.Repeat(strings.Repeat(">", 30)+"a\n\n", 3_000),
		"signs that are escaped":     strings.Repeat(`"&'<`+"\n", 20_000),
	} {
		html := newMarkdown().message(md)
		parts := markup.Parse(md)
		if most := outputBase + outputTimes*len(md); len(html) > most || len(parts.Text) > most ||
			len(parts.Spans) > len(md) {
			t.Errorf("%s: %d bytes became %d on the page and %d in a chat", name, len(md), len(html), len(parts.Text))
		}
	}
	if html := newMarkdown().message(table(3, 200, "|1|2|3|\n")); !strings.Contains(string(html), "<td>2</td>") {
		t.Error("an ordinary table is not rendered as one")
	}
	if html := newMarkdown().message(fmt.Sprintf("[a]: https://example.org\n\n%s",
		strings.Repeat("[a] ", 50))); !strings.Contains(string(html), `href="https://example.org"`) {
		t.Error("an ordinary definition is not rendered as one")
	}
}
