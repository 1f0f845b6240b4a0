package markup

import (
	"strings"
	"testing"
)

// TestParse_asModelsAndPeopleWrite: what is meant counts, not the letter of the standard.
func TestParse_asModelsAndPeopleWrite(t *testing.T) {
	t.Parallel()
	const fenced = "# title\n\n```python\nfoo = 'bar'\n```\n\nend"
	for name, c := range map[string]struct{ md, text, spans string }{
		"ranges zh":  {"需要3~5天，大约10~12元。", "需要3~5天，大约10~12元。", ""},
		"ranges ko":  {"오전 10~11시, 오후 2~3시", "오전 10~11시, 오후 2~3시", ""},
		"ranges en":  {"It takes 3~5 days and costs 10~12 euros.", "It takes 3~5 days and costs 10~12 euros.", ""},
		"about":      {"about ~5 min, then ~10 min", "about ~5 min, then ~10 min", ""},
		"home":       {"~/a and ~/b~", "~/a and ~/b~", ""},
		"struck out": {"~~gone~~ and ~~~x~~~", "gone and ~~~x~~~", "strike gone"},
		"product":    {"1*2*3, 2*x*y, a*b*c and 5 * 3 * 2", "1*2*3, 2*x*y, a*b*c and 5 * 3 * 2", ""},
		"brackets":   {"(a)*(b)*(c), 2*(3)*4", "(a)*(b)*(c), 2*(3)*4", ""},
		"power":      {"x**2 + y**2", "x**2 + y**2", ""},
		"names": {"snake_case_name and __init__.py, __len__()", "snake_case_name and __init__.py, __len__()",
			""},
		"within word": {"中*强*文, **H**yper**T**ext", "中强文, HyperText", "italic 强|bold H|bold T"},
		"emphasis":    {"*a* (*b*), __c d__, *x*.", "a (b), c d, x.", "italic a|italic b|bold c d|italic x"},
		"tags": {"a <b>b <i>c</i></b> <CODE>d</CODE> <s>e</s> <strong>f", "a b c d e <strong>f",
			"bold b c|italic c|code d|strike e"},
		"tag of code": {"<code>a *b*</code> <code>a<br>b</code>", "<code>a b</code> <code>a\nb</code>",
			"italic b"},
		"open tags":    {"</b> x <b> y <u>z</u>", "</b> x <b> y <u>z</u>", ""},
		"crossed tags": {"<b>x <i>y</b> z</i>", "x <i>y z</i>", "bold x <i>y"},
		"table":        {"a | b\n--|--\n1 | 2", "a | b\n--+--\n1 | 2", "pre a | b\n--+--\n1 | 2"},
		"table after": {"Prices:\n| a | b |\n|---|---|\n| 1 | 2 |", "Prices:\na | b\n--+--\n1 | 2",
			"pre a | b\n--+--\n1 | 2"},
		"list after":     {"You need:\n- tea\n- milk", "You need:\n• tea\n• milk", ""},
		"numbers after":  {"Then:\n2. tea\n3. milk", "Then:\n2. tea\n3. milk", ""},
		"tight headings": {"##Title\n\n###*x*\n#tag", "Title\n\nx\n#tag", "heading Title|heading x|italic x"},
		"tight in code":  {"```\n##x\n```", "##x", "pre ##x"},
		"fence in markdown": {"# h\n\n```markdown\n" + fenced + "\n```\n\nafter", "h\n\n" + fenced + "\n\nafter",
			"heading h|pre " + fenced},
		"two fences in md": {"```md\n```sh\na\n```\nx\n```sh\nb\n```\n```\n\nafter",
			"```sh\na\n```\nx\n```sh\nb\n```\n\nafter",
			"pre ```sh\na\n```\nx\n```sh\nb\n```"},
		"fence of tildes": {"~~~markdown\n```sh\na\n```\n~~~\n\nafter", "```sh\na\n```\n\nafter",
			"pre ```sh\na\n```"},
		"enough backticks": {"````markdown\n```sh\na\n```\n````\n\nafter", "```sh\na\n```\n\nafter",
			"pre ```sh\na\n```"},
		"not closed": {"```markdown\n```sh\na\n```\n\nafter", "```sh\na\n\nafter", "pre ```sh\na"},
	} {
		got := Parse(c.md)
		var spans []string
		for _, s := range got.Spans {
			spans = append(spans, string(s.Kind)+" "+got.Text[s.Start:s.End])
		}
		if s := strings.Join(spans, "|"); got.Text != c.text || s != c.spans {
			t.Errorf("%s: %q\n%q, want\n%q\n%q, want\n%q", name, c.md, got.Text, c.text, s, c.spans)
		}
	}
}

// TestParse_losesNoWords: what the standard drops or takes for code is shown.
func TestParse_losesNoWords(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ md, text, spans string }{
		"sources": {"It rained 12 mm.\n\n[1]: https://a.example/rain\n[2]: https://b.example \"b\"",
			"It rained 12 mm.\n\n[1]: https://a.example/rain\n[2]: https://b.example \"b\"",
			"link https://a.example/rain|link https://b.example"},
		"a speaker":   {"[Ann]: yes", "[Ann]: yes", ""},
		"speakers":    {"[Ann]: yes\n[Bob]: no\n[Ann]: ok\nfine", "[Ann]: yes\n[Bob]: no\n[Ann]: ok\nfine", ""},
		"a named one": {"[Ann] left\n\n[Ann]: yes", "Ann (yes) left\n\n[Ann]: yes", ""},
		"some used": {"see [x][Two]\n\n[two]: https://b.example\n[3]: https://c.example",
			"see x\n\n[3]: https://c.example", "link x|link https://c.example"},
		"twice": {"see [a]\n\n[a]: https://b.example\n[a]: https://c.example",
			"see a\n\n[a]: https://c.example", "link a|link https://c.example"},
		"a citation": {"It costs 900[1].\n\n[1]: https://a.example", "It costs 900[1].", "link [1]"},
		"zh colon":   {"**注意：**请先备份", "注意：请先备份", "bold 注意："},
		"zh quotes":  {"这是**「重要」**的内容", "这是「重要」的内容", "bold 「重要」"},
		"ko":         {"**한국어(Korean)**는", "한국어(Korean)는", "bold 한국어(Korean)"},
		"ja":         {"これは*「本」*です。~~旧：~~新", "これは「本」です。旧：新", "italic 「本」|strike 旧："},
		"colon":      {"**Note:**text and **b**", "Note:text and b", "bold Note:|bold b"},
		"currency":   {"**5 €**pro", "5 €pro", "bold 5 €"},
		"code in prose": {"f(a,**b,**c) {**a, **b} (a+b)**n + (c+d)**m f(**a) and g(**b)",
			"f(a,**b,**c) {**a, **b} (a+b)**n + (c+d)**m f(**a) and g(**b)", ""},
		"names in prose": {"foo*.txt bar*.txt, x = a**(b) + c**(d)", "foo*.txt bar*.txt, x = a**(b) + c**(d)",
			""},
		"words after a block": {"```js\nx()\n``` and then\n\n```go\ny\n```\nend", "x()\n\nand then\n\ny\n\nend",
			"pre x()|pre y"},
		"a stop after it": {"```js\nx()\n```. Then", "x()\n\n. Then", "pre x()"},
		"tildes":          {"~~~\na\n~~~ that is it", "a\n\nthat is it", "pre a"},
		"words before one": {"Here: ```js\nx()\n\ny()\n```\nafter", "Here:\nx()\n\ny()\n\nafter",
			"pre x()\n\ny()"},
		"on both sides":   {"Here: ```js\nx()\n``` more", "Here:\nx()\n\nmore", "pre x()"},
		"nothing within":  {"use x\n``` and done", "use x\nand done", ""},
		"a fence in code": {"```js\nx()\n``` js\ny\n```\nend", "x()\n``` js\ny\n\nend", "pre x()\n``` js\ny"},
		"code on a line":  {"a ```x``` b\n\n```\nc\n```", "a x b\n\nc", "code x|pre c"},
		"pipes in code": {"| a | b |\n|---|---|\n| `a|b` | a or b |\n\nfin | `a|b` | c",
			"a   | b\n----+-------\na|b | a or b\n\nfin | a|b | c",
			"pre a   | b\n----+-------\na|b | a or b|code a|b"},
		"in the header": {"> a | `b|c`\n> ---|---\n> 1 | 2", "a | b|c\n--+----\n1 | 2",
			"quote a | b|c\n--+----\n1 | 2|pre a | b|c\n--+----\n1 | 2"},
		"an excess cell": {"| a | b |\n|---|---|\n| 1 | 2 | extra note |\n| x |",
			"a | b\n--+---------------\n1 | 2 | extra note\nx |",
			"pre a | b\n--+---------------\n1 | 2 | extra note\nx |"},
	} {
		got := Parse(c.md)
		var spans []string
		for _, s := range got.Spans {
			spans = append(spans, string(s.Kind)+" "+got.Text[s.Start:s.End])
		}
		if s := strings.Join(spans, "|"); got.Text != c.text || s != c.spans {
			t.Errorf("%s: %q\n%q, want\n%q\n%q, want\n%q", name, c.md, got.Text, c.text, s, c.spans)
		}
	}
}
