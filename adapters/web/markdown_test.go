package web

import (
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/everthread/everthread/core"
)

func TestMarkdown(t *testing.T) {
	t.Parallel()
	m := newMarkdown()
	cases := []struct{ name, md, want string }{
		{"line breaks stay", "a\nb", "<p>a<br>\nb</p>\n"},
		{"raw HTML is text", "a <b>c</b>", "<p>a &lt;b&gt;c&lt;/b&gt;</p>\n"},
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
		{"code is code", "```js\n<script>\n```", "<pre><code>&lt;script&gt;\n</code></pre>\n"},
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

func TestReferencesLead(t *testing.T) {
	t.Parallel()
	m := newMarkdown()
	for md, want := range map[string]string{
		"so [#12]":           `<p>so <a class="ref" href="/m/12">#12</a></p>`,
		"so [#1, #22,#3].":   `<p>so <a class="ref" href="/m/1">#1</a> <a class="ref" href="/m/22">#22</a> <a class="ref" href="/m/3">#3</a>.</p>`,
		"[#0] [#x] [#]":      `<p>[#0] [#x] [#]</p>`,
		"[#1](https://a.b/)": `<p><a href="https://a.b/" rel="nofollow noreferrer noopener" target="_blank">#1</a></p>`,
		"`[#1]`":             `<p><code>[#1]</code></p>`,
	} {
		if got := strings.TrimSpace(string(m.summary(md))); got != want {
			t.Errorf("%s: got %s", md, got)
		}
	}
}

// TestMarkdownIsQuick: whatever somebody writes, a page is not held up.
func TestMarkdownIsQuick(t *testing.T) {
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
		"+ ", "1. > ", "- 1. "} {
		texts = append(texts, strings.Repeat(bit, 60_000/len(bit)))
	}
	var deep strings.Builder
	for n := range 300 {
		deep.WriteString(strings.Repeat("  ", n) + "- a\n")
	}
	for _, text := range append(texts, deep.String(), strings.Repeat(strings.Repeat("> ", 39)+"a\n", 500)) {
		if took := timed(text); took > 100*usual+time.Second {
			t.Errorf("%q took %s, plain words %s", short(text, 30), took, usual)
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

// dangers are what of HTML could run, load or lead astray; nil: nothing.
func dangers(t *testing.T, body string) []string {
	t.Helper()
	root, err := html.Parse(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		switch n.Data {
		case "iframe", "object", "embed", "base", "svg", "math", "frame", "applet", "style", "noscript",
			"template", "foreignobject":
			out = append(out, "<"+n.Data+">")
		}
		for _, a := range n.Attr {
			value := strings.ToLower(strings.Map(func(r rune) rune {
				if r <= ' ' {
					return -1
				}
				return r
			}, a.Val))
			switch {
			case strings.HasPrefix(a.Key, "on"), a.Key == "style", a.Key == "srcdoc", a.Key == "formaction", a.Key == "srcset":
				out = append(out, n.Data+" "+a.Key)
			case a.Key == "href" || a.Key == "src" || a.Key == "action":
				ours := strings.HasPrefix(value, "/") && !strings.HasPrefix(value, "//") || strings.HasPrefix(value, "#")
				out = append(out, where(n, a, value, ours)...)
			}
		}
	}
	return out
}

func where(n *html.Node, a html.Attribute, value string, ours bool) []string {
	if ours {
		return nil
	}
	if n.Data == "a" && (strings.HasPrefix(value, "mailto:") || strings.HasPrefix(value, "tel:")) {
		return nil
	}
	known := strings.HasPrefix(value, "http://") || strings.HasPrefix(value, "https://")
	if n.Data == "a" && a.Key == "href" && known {
		for _, other := range n.Attr {
			if other.Key == "rel" && strings.Contains(other.Val, "noopener") && strings.Contains(other.Val, "nofollow") {
				return nil
			}
		}
	}
	return []string{n.Data + " " + a.Key + "=" + a.Val}
}

func FuzzMarkdown(f *testing.F) {
	f.Add("[x](javascript:alert(1)) <img src=x onerror=alert(1)> [#1]")
	f.Add("| a | b |\n|---|---|\n| <svg/onload=x> | ![](data:x) |")
	m := newMarkdown()
	f.Fuzz(func(t *testing.T, md string) {
		for _, got := range []string{string(m.message(md)), string(m.summary(md))} {
			if bad := dangers(t, got); bad != nil {
				t.Errorf("%q became %q: %v", md, got, bad)
			}
		}
	})
}
