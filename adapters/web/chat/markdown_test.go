package chat

import (
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/adapters/web"
	"github.com/everthread/everthread/adapters/web/webtest"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/internal/fulltest"
)

func TestMarkdown(t *testing.T) {
	t.Parallel()
	m := newMarkdown()
	cases := []struct{ name, md, want string }{
		{"line breaks stay", "a\nb", "<p>a<br>\nb</p>\n"},
		{"raw HTML is text", "a <u>c</u>", "<p>a &lt;u&gt;c&lt;/u&gt;</p>\n"},
		{"simple tags are markup", "a <b>c</b> <code>d</code>", "<p>a <strong>c</strong> <code>d</code></p>\n"},
		{"ranges are not struck out", "3~5 days, 10~12", "<p>3~5 days, 10~12</p>\n"},
		{"a block of HTML is text", "<div onclick=x>\ny\n</div>", "<p>&lt;div onclick=x&gt;<br>y<br>&lt;/div&gt;<br></p>\n"},
		{"links lead out", "[x](https://example.org/?a=1&b=2)",
			`<p><a href="https://example.org/?a=1&amp;b=2" rel="nofollow noreferrer noopener" target="_blank">x</a></p>` + "\n"},
		{"bare links too", "see https://example.org",
			`<p>see <a href="https://example.org" rel="nofollow noreferrer noopener" target="_blank">https://example.org</a></p>` + "\n"},
		{"links that lead within are text", "[x](/signout) [y](m/1) [z](//evil.example)", "<p>x y z</p>\n"},
		{"schemes that nobody knows are text", "[x](javascript:alert(1)) [y](data:text/html,x) <vbscript:x>",
			"<p>x y vbscript:x</p>\n"},
		{"images are links", "![a cat](https://example.org/cat.png)",
			`<p><a href="https://example.org/cat.png" rel="nofollow noreferrer noopener" target="_blank">a cat</a></p>` + "\n"},
		{"images without words too", "![](https://example.org/cat.png)",
			`<p><a href="https://example.org/cat.png" rel="nofollow noreferrer noopener" target="_blank">https://example.org/cat.png</a></p>` + "\n"},
		{"headings stand below the page's", "# a\n## b\n### c\n###### d", "<h3>a</h3>\n<h3>b</h3>\n<h4>c</h4>\n<h6>d</h6>\n"},
		{"references are text in messages", "see [#12]", "<p>see [#12]</p>\n"},
		{"code is code", "```\n<script>\n```", "<pre><code>&lt;script&gt;\n</code></pre>\n"},
		{"code is coloured below the name of its language", "```js\nlet a = '<b>' // no\n```",
			`<div class="codeblock"><p class="language">JavaScript</p><pre><code><span class="k">let </span>a = <span class="s">&#39;&lt;b&gt;&#39; ` +
				`</span><span class="c">// no` + "\n</span></code></pre></div>\n"},
		{"a language that nobody knows is named", "```<b>x\n<i>\n```",
			`<div class="codeblock"><p class="language">&lt;b&gt;x</p><pre><code>&lt;i&gt;` + "\n</code></pre></div>\n"},
		{"tasks have boxes", "- [ ] a\n- [x] b",
			"<ul>\n<li><span class=\"box\">☐</span> a</li>\n<li><span class=\"box\">☑</span> b</li>\n</ul>\n"},
		{"tables are aligned", "|a|b|c|\n|-|:-:|-:|\n|1|2|3|", "<table>\n<thead>\n<tr>\n<th>a</th>\n<th class=\"middle\">b</th>\n" +
			"<th class=\"right\">c</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td>1</td>\n<td class=\"middle\">2</td>\n" +
			"<td class=\"right\">3</td>\n</tr>\n</tbody>\n</table>\n"},
		{"definitions that nothing uses stay", "a\n\n[1]: https://a.example\n[Ann]: yes",
			`<p>a</p>` + "\n" + `<p>[1]: <a href="https://a.example" rel="nofollow noreferrer noopener" target="_blank">https://a.example</a></p>` +
				"\n<p>[Ann]: yes</p>\n"},
		{"emphasis needs no spaces", "**注意：**请 **5 €**pro", "<p><strong>注意：</strong>请 <strong>5 €</strong>pro</p>\n"},
		{"words beside fences stay", "So: ```\nx\n``` more", "<p>So:</p>\n<pre><code>x\n</code></pre>\n<p>more</p>\n"},
		{"cells stay", "|a|b|\n|-|-|\n|`x|y`|2|3|", "<table>\n<thead>\n<tr>\n<th>a</th>\n<th>b</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n" +
			"<td><code>x|y</code></td>\n<td>2|3</td>\n</tr>\n</tbody>\n</table>\n"},
		{"mail", "<ana@example.org>", `<p><a href="mailto:ana@example.org">ana@example.org</a></p>` + "\n"},
		{"numbers of lists", "3. a\n4. b", "<ol start=\"3\">\n<li>a</li>\n<li>b</li>\n</ol>\n"},
		{"nothing", "", ""},
		{"no text", "\x00\xff", "<p>\uFFFD\uFFFD</p>\n"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := string(m.message(c.md)); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

// Search results are quoted with their markup escaped.
func TestMarkdown_noticeWithoutFormulas(t *testing.T) {
	t.Parallel()
	const want = "<p><strong>Found</strong> the deposit? [document lease.pdf] (x) $a$</p>"
	if got := strings.TrimSpace(string(newMarkdown().notice(
		`**Found** the deposit? \[document lease.pdf\] \(x\) $a$`))); got != want {
		t.Errorf("got %s", got)
	}
}

func TestMarkdown_formulas(t *testing.T) {
	t.Parallel()
	m := newMarkdown()
	in := func(tex string) string { return `<span class="math">` + tex + `</span>` }
	wide := func(tex string) string { return `<div class="math wide">` + tex + `</div>` }
	for md, want := range map[string]string{
		"so $a_1 < b_2$.":                "<p>so " + in("a_1 &lt; b_2") + ".</p>",
		`so \(a * b * c\), (\(d\))`:      "<p>so " + in("a * b * c") + ", (" + in("d") + ")</p>",
		"it costs $5 and $6":             "<p>it costs $5 and $6</p>",
		"$5-$6, US$7/US$8 or 9$ and 10$": "<p>$5-$6, US$7/US$8 or 9$ and 10$</p>",
		"from $20,000 to $30,000":        "<p>from $20,000 to $30,000</p>",
		`no \$a$ and $b\$`:               "<p>no $a$ and $b$</p>",
		"spend $10 on `$HOME$`":          "<p>spend $10 on <code>$HOME$</code></p>",
		"`$a$` and $ b $":                "<p><code>$a$</code> and $ b $</p>",
		"so $$a$$ here":                  `<p>so <span class="math wide">a</span> here</p>`,
		"$$\na\n- b\n+ c\n$$\nend":       wide("a\n- b\n+ c") + "\n<p>end</p>",
		"so\n\\[ \\frac{1}{2} \\].\nend": "<p>so</p>\n" + wide(`\frac{1}{2}`) + "\n<p>end</p>",
		"- a\n  $$\n  b\n  $$\n- c":      "<ul>\n<li>a\n" + wide("b") + "\n</li>\n<li>c</li>\n</ul>",
		"$$ is money\n\nand $$ too":      "<p>$$ is money</p>\n<p>and $$ too</p>",
		"$$\na":                          "<p>$$<br>\na</p>",
		`\[not a link](x) \( a`:          "<p>[not a link](x) ( a</p>",
		"$<script>alert(1)</script>$":    "<p>" + in("&lt;script&gt;alert(1)&lt;/script&gt;") + "</p>",
	} {
		if got := strings.TrimSpace(string(m.message(md))); got != want {
			t.Errorf("%q\ngot  %q\nwant %q", md, got, want)
		}
	}
}

// TestMarkdown_coloursAreBounded checks that long or hostile code is shown without colours.
func TestMarkdown_coloursAreBounded(t *testing.T) {
	t.Parallel()
	m := newMarkdown()
	for name, body := range map[string]string{
		"long code":      strings.Repeat("let a = 1\n", mostColoured/9),
		"many operators": strings.Repeat("1,", 30_000),
		"open brackets":  strings.Repeat("((", 5_000),
		"open strings":   strings.Repeat("'\\", 5_000),
	} {
		languages := []string{"js", "go", "python", "html", "php", "bash", "md", "rust", "c++"}
		for _, language := range languages[:fulltest.Size(1, 9)] {
			md := "```" + language + "\n" + body + "\n```"
			begin := time.Now()
			if got := m.message(md); len(got) > outputBase+outputTimes*len(md) {
				t.Errorf("%s in %s became %d bytes", name, language, len(got))
			}
			if took := time.Since(begin); took > 10*time.Second {
				t.Errorf("%s in %s took %s", name, language, took)
			}
		}
	}
	long := m.message("```js\n" + strings.Repeat("let a = 1\n", mostColoured/9) + "```")
	if strings.Contains(string(long), "<span") {
		t.Error("code that is too long is coloured")
	}
}

func TestMarkdown_referencesLead(t *testing.T) {
	t.Parallel()
	m := newMarkdown()
	for md, want := range map[string]string{
		"so [#12]":           `<p>so <a class="ref" href="/m/12">[1]</a></p>`,
		"so [#5, #22,#3].":   `<p>so <a class="ref" href="/m/5">[1]</a> <a class="ref" href="/m/22">[2]</a> <a class="ref" href="/m/3">[3]</a>.</p>`,
		"a [#5] b [#6][#5]":  `<p>a <a class="ref" href="/m/5">[1]</a> b <a class="ref" href="/m/6">[2]</a><a class="ref" href="/m/5">[1]</a></p>`,
		"[#0] [#x] [#]":      `<p>[#0] [#x] [#]</p>`,
		"[#1](https://a.b/)": `<p><a href="https://a.b/" rel="nofollow noreferrer noopener" target="_blank">#1</a></p>`,
		"`[#1]`":             `<p><code>[#1]</code></p>`,
	} {
		if got := strings.TrimSpace(string(m.summary(md))); got != want {
			t.Errorf("%s: got %s", md, got)
		}
	}
}

// TestMarkdown_isQuick checks that no input delays a page.
func TestMarkdown_isQuick(t *testing.T) {
	t.Parallel()
	m := newMarkdown()
	timed := func(text string) time.Duration {
		begin := time.Now()
		m.summary(text)
		return time.Since(begin)
	}
	usual := timed(strings.Repeat("some words\n", 6000))
	texts := []string{}
	for _, bit := range []string{"[", "![", "*", "**a", "_a_", "> ", ">", "- ", "`", "``` ", "<", "<a", "|a", "(", "[](",
		"\\", "&", "a\n", "[a]: b\n", "#", "~~", "http://a", "<!--", "\n> ", "1. ", "\t", "* * *\n", "a|b\n-|-\n", "1) ",
		"+ ", "1. > ", "- 1. ", "$", "$a", "$$", "$$\n", "\\(", "\\[\n", "$a ", "$$a\n", "\\[a\n"} {
		texts = append(texts, strings.Repeat(bit, fulltest.Size(6_000, 60_000)/len(bit)))
	}
	var deep strings.Builder
	for n := range 300 {
		deep.WriteString(strings.Repeat("  ", n) + "- a\n")
	}
	for _, text := range append(texts, deep.String(), strings.Repeat(strings.Repeat("> ", 39)+"a\n", 500)) {
		if took := timed(text); took > 100*usual+time.Second {
			t.Errorf("%q took %s, plain words %s", web.Short(text, 30), took, usual)
		}
	}
}

func TestCaptions(t *testing.T) {
	t.Parallel()
	photo, doc, voice := core.Attachment{Kind: "photo"}, core.Attachment{Kind: "document"}, core.Attachment{Kind: "voice"}
	cases := []struct {
		text string
		as   []core.Attachment
		want string
	}{
		{"[photo]", []core.Attachment{photo}, ""},
		{"[photo: look [here]]", []core.Attachment{photo}, "look [here]"},
		{"[voice 0:12: hello: you]", []core.Attachment{voice}, "hello: you"},
		{"see\n[document a.pdf]\n[photo]", []core.Attachment{doc, photo}, "see"},
		{"[photo] is what I wrote", nil, "[photo] is what I wrote"},
		{"[photo", []core.Attachment{photo}, "[photo"},
		{"", []core.Attachment{{}}, ""},
	}
	for _, c := range cases {
		if got := captions(c.text, c.as); got != c.want {
			t.Errorf("%q: got %q, want %q", c.text, got, c.want)
		}
	}
}

func FuzzMarkdown(f *testing.F) {
	f.Add("[x](javascript:alert(1)) <img src=x onerror=alert(1)> [#1]")
	f.Add("| a | b |\n|---|---|\n| <svg/onload=x> | ![](data:x) |")
	m := newMarkdown()
	f.Fuzz(func(t *testing.T, md string) {
		for _, got := range []string{string(m.message(md)), string(m.summary(md))} {
			if bad := webtest.Dangers(t, got); bad != nil {
				t.Errorf("%q became %q: %v", md, got, bad)
			}
		}
	})
}
