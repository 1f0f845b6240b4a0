package matrix

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"go.uber.org/zap"

	"github.com/everthread/everthread/adapters/matrix/matrixtest"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/text/markup"
)

func TestRender(t *testing.T) {
	t.Parallel()
	span := func(k core.SpanKind, start, end int, value string) core.Span {
		return core.Span{Kind: k, Start: start, End: end, Value: value}
	}
	for _, c := range []struct {
		name, text, html string
		spans            []core.Span
		fold             bool
	}{
		{"plain", "a < b", "", nil, false},
		{"nested", "bold both", "<strong>bold <em>both</em></strong>", []core.Span{span(core.SpanBold, 0, 9, ""),
			span(core.SpanItalic, 5, 9, "")}, false},
		{"escaped", "<b> & co", "<strong>&lt;b&gt;</strong> &amp; co", []core.Span{span(core.SpanBold, 0, 3, "")}, false},
		{"block", "see:\nx < y\nend", `see:<pre><code class="language-go">x &lt; y</code></pre>end`,
			[]core.Span{span(core.SpanPre, 5, 10, "go")}, false},
		{"quote", "a\nb\nc", "a<blockquote>b</blockquote>c", []core.Span{span(core.SpanQuote, 2, 3, "")}, false},
		{"heading", "T\ntext", "<h4>T</h4>text", []core.Span{span(core.SpanHeading, 0, 1, "")}, false},
		{"link", "go", `<a href="https://e.org/?a=1&amp;b=2">go</a>`,
			[]core.Span{span(core.SpanLink, 0, 2, "https://e.org/?a=1&b=2")}, false},
		{"no script", "go", "go", []core.Span{span(core.SpanLink, 0, 2, "javascript:alert(1)")}, false},
		{"fold", "Day\none\ntwo", "<details><summary><strong>Day</strong></summary>one<br/>two</details>",
			[]core.Span{span(core.SpanBold, 0, 3, "")}, true},
		{"spoiler", "x", "<span data-mx-spoiler>x</span>", []core.Span{span(core.SpanSpoiler, 0, 1, "")}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := Render(core.Part{Text: c.text, Spans: c.spans, Fold: c.fold}, nil)
			same(t, got["body"], c.text)
			html, _ := got["formatted_body"].(string)
			same(t, html, c.html)
		})
	}
}

// TestRender_markdown checks that whatever a model writes becomes HTML with the same words as the
// text, in an event that a server accepts.
func TestRender_markdown(t *testing.T) {
	t.Parallel()
	pieces := []string{"# head\n", "**bold** ", "_it_ ", "`code` ", "```go\nx<y\n```\n", "> quote\n", "- item\n",
		"[l](https://e.org) ", "a & b\n\n", "||s|| ", "🙂 ", "!signal x\n"}
	rapid.Check(t, func(t *rapid.T) {
		doc := markup.Parse(strings.Join(rapid.SliceOf(rapid.SampledFrom(pieces)).Draw(t, "md"), ""))
		for _, part := range markup.Split(doc, maxText, nil) {
			got := toHTML(part.Text, part.Spans, rapid.Bool().Draw(t, "fold"), false)
			if strings.Count(got, "<details>") != strings.Count(got, "</details>") ||
				strings.Count(got, "<strong>") != strings.Count(got, "</strong>") {
				t.Fatalf("unbalanced: %s", got)
			}
			if bare(stripTags(got)) != bare(part.Text) {
				t.Fatalf("words differ: %q in %q", part.Text, got)
			}
		}
	})
}

func stripTags(s string) string {
	var b strings.Builder
	in := false
	for _, r := range s {
		switch {
		case r == '<':
			in = true
		case r == '>':
			in = false
		case !in:
			b.WriteRune(r)
		}
	}
	return strings.NewReplacer("&lt;", "<", "&gt;", ">", "&#34;", `"`, "&#39;", "'", "&amp;", "&").Replace(b.String())
}

func bare(s string) string { return strings.Join(strings.Fields(s), "") }

func TestSend_sameKeyIsTheSameMessage(t *testing.T) {
	t.Parallel()
	w, room := talking(t)
	w.Fail("send", 1, matrixtest.Failure{Drop: true})
	p := core.Part{Text: "once", Key: "everthread-1-7-0", Reply: "$event1"}
	var unknown *core.Unknown
	_, err := w.c.Send(t.Context(), toAda, p)
	if !errors.As(err, &unknown) {
		t.Fatalf("%v", err)
	}
	got, err := w.c.Send(t.Context(), toAda, p)
	must(t, err)
	sent := w.Sent(room)
	if got := sent; len(got) != 1 {
		t.Fatalf("%d, want %d: %v", len(got), 1, got)
	}
	same(t, got.NativeID, sent[0].ID)
	var c map[string]any
	must(t, json.Unmarshal(sent[0].Content, &c))
	same(t, c["m.mentions"], map[string]any{})
	same(t, c["m.relates_to"].(map[string]any)["m.in_reply_to"].(map[string]any)["event_id"], "$event1")
}

// The thread of a question is that of its answer and of its preview.
func TestThread_isThatOfTheQuestion(t *testing.T) {
	t.Parallel()
	in := readContent(t, typeMessage, `{"msgtype":"m.text","body":"in a thread","m.relates_to":{"rel_type":"m.thread",
		"event_id":"$root","is_falling_back":true,"m.in_reply_to":{"event_id":"$last"}}}`)
	same(t, in.Address.Place, "$root")
	if in.Quote != nil {
		t.Fatalf("%v", in.Quote)
	}
	w, room := talking(t)
	to := toAda
	to.Place = "$root"
	must(t, w.c.Preview(t.Context(), to, "turn-1-1", "so far"))
	for _, p := range []core.Part{{Text: "answer", Key: "1", Place: "$root", Preview: "turn-1-1"},
		{Text: "more", Key: "2", Place: "$root", Reply: "$x"}, {Text: "elsewhere", Key: "3"}} {
		_, err := w.c.Send(t.Context(), to, p)
		must(t, err)
	}
	var got []string
	for _, sent := range w.Sent(room) {
		var c struct {
			Relates struct {
				Type     string `json:"rel_type"`
				Event    string `json:"event_id"`
				Fallback bool   `json:"is_falling_back"`
				Reply    struct {
					Event string `json:"event_id"`
				} `json:"m.in_reply_to"`
			} `json:"m.relates_to"`
		}
		must(t, json.Unmarshal(sent.Content, &c))
		r := c.Relates
		got = append(got, fmt.Sprintf("%s %t %s", r.Type, r.Fallback, r.Reply.Event))
		if r.Type == "m.thread" {
			same(t, r.Event, "$root")
		}
	}
	same(t, got, []string{"m.thread true $root", "m.replace false ", "m.thread false $x", " false "})
}

func TestRender_quietIsANotice(t *testing.T) {
	t.Parallel()
	same(t, Render(core.Part{Text: "x", Quiet: true}, nil)["msgtype"], "m.notice")
}

func TestSend_retryAfter(t *testing.T) {
	t.Parallel()
	w, _ := talking(t)
	var wait *core.RetryAfter
	w.Fail("send", 1, matrixtest.Failure{Code: http.StatusTooManyRequests, Err: "M_LIMIT_EXCEEDED", RetryAfter: 4000})
	_, err := w.c.Send(t.Context(), toAda, core.Part{Text: "x", Key: "1"})
	if !errors.As(err, &wait) {
		t.Fatalf("%v", err)
	}
	same(t, wait.After, 4*time.Second)
	w.Fail("send", 1, matrixtest.Failure{Code: http.StatusTooManyRequests, Err: "M_LIMIT_EXCEEDED"})
	_, err = w.c.Send(t.Context(), toAda, core.Part{Text: "x", Key: "1"})
	if !errors.As(err, &wait) {
		t.Fatalf("%v", err)
	}
	same(t, wait.After, time.Second)
}

func TestTyping_endsWithTheAnswer(t *testing.T) {
	t.Parallel()
	w, room := talking(t)
	must(t, w.c.Typing(t.Context(), toAda, ""))
	_, err := w.c.Send(t.Context(), toAda, core.Part{Text: "x", Key: "1"})
	must(t, err)
	typed := slices.DeleteFunc(w.Marks(), func(m string) bool { return !strings.HasPrefix(m, "typing") })
	same(t, typed, []string{"typing " + room + " true", "typing " + room + " false"})
}

func TestFiles_goBothWays(t *testing.T) {
	t.Parallel()
	w, room := talking(t)
	for _, a := range []core.Attachment{{Kind: "photo", Name: "a.png", MIME: "image/png"},
		{Kind: "voice", Name: "v.ogg", MIME: "audio/ogg", Duration: 3 * time.Second},
		{Kind: "document", Name: "a.pdf", MIME: "application/pdf"}} {
		_, err := w.c.Send(t.Context(), toAda, core.Part{Text: "caption", Attachment: &a, Data: []byte("data of " + a.Name),
			Key: a.Name})
		must(t, err)
		sent := w.Sent(room)
		last := sent[len(sent)-1]
		f := object(last.Content)
		body, files := content(f, false, "")
		if !strings.Contains(body, "caption") {
			t.Fatalf("%s", body)
		}
		same(t, files[0].Kind, a.Kind)
		same(t, files[0].Name, a.Name)
		data, _, err := w.c.Fetch(t.Context(), files[0].Ref, 0)
		must(t, err)
		same(t, string(data), "data of "+a.Name)
	}
	var permanent *core.Permanent
	_, _, err := w.c.Fetch(t.Context(), w.AddMedia([]byte("too long")), 3)
	if !errors.As(err, &permanent) {
		t.Fatalf("%v", err)
	}
	if !errors.Is(err, core.ErrTooLarge) {
		t.Fatalf("%v", err)
	}
	for _, ref := range []string{"mxc://hs.test/none", "mxc://", "https://example.org/x", "{}", "{", "mxc://a/b/c"} {
		_, _, err := w.c.Fetch(t.Context(), ref, 0)
		if !errors.As(err, &permanent) {
			t.Fatalf("%v: %v", ref, err)
		}
	}
}

func TestDiagnose(t *testing.T) {
	t.Parallel()
	s := matrixtest.New(us)
	t.Cleanup(s.Close)
	s.Direct(ada)
	s.Portal(alice)
	c := open(t, s, newKeeper(nil), nil)
	var all []string
	for _, f := range c.Diagnose(t.Context(), "en") {
		all = append(all, f.Detail)
		if !f.OK && !strings.Contains(f.Detail, "encrypted rooms") {
			t.Fatal(f.Detail)
		}
	}
	if !strings.Contains(strings.Join(all, "\n"), "2 rooms, 1 direct chats, 1 of bridges") {
		t.Fatalf("%s", strings.Join(all, "\n"))
	}
	for _, f := range c.Diagnose(t.Context(), "de") {
		if slices.Contains(all, f.Detail) {
			t.Fatalf("%s", all)
		}
	}
	s.Revoke()
	found := c.Diagnose(t.Context(), "en")
	if found[len(found)-1].OK {
		t.Fatalf("true")
	}
	if !strings.Contains(found[len(found)-1].Detail, "log in again") {
		t.Fatalf("%s", found[len(found)-1].Detail)
	}
}

func TestOptions_areChecked(t *testing.T) {
	t.Parallel()
	good := Options{Config: Config{Homeserver: "https://hs.test", UserID: us, AccessToken: "x"}, Keeper: newKeeper(nil),
		Log: zap.NewNop()}
	_, err := New(good)
	must(t, err)
	for want, change := range map[string]func(*Options){
		"homeserver":    func(o *Options) { o.Homeserver = "hs.test" },
		"user_id":       func(o *Options) { o.UserID = "assistant" },
		"access_token":  func(o *Options) { o.AccessToken = "" },
		"keep":          func(o *Options) { o.Keeper = nil },
		"bridge signal": func(o *Options) { o.Bridges = []string{"signal=signalbot"} },
		"twice": func(o *Options) {
			o.Bridges = []string{"a=@b:hs", "c=@b:hs"}
		},
	} {
		o := good
		change(&o)
		_, err := New(o)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Fatalf("%v", err)
		}
	}
}
