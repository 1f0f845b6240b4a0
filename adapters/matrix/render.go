package matrix

import (
	"encoding/json"
	"html"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/everthread/everthread/core"
)

const (
	bridgedText = 2000   // longest text that a bridge passes on, in bytes
	maxContent  = 45_000 // bytes of an event's content; encryption adds a third
)

// joiner is an invisible character that prevents a text from being a command.
const joiner = "\u2060"

// Render returns p as the content of a message: plain text, and HTML if there is markup. bridge is nil for native
// rooms. In portals everything is m.text, as notices are not bridged, and commands to the bridge are made harmless.
func Render(p core.Part, bridge *Bridge) map[string]any {
	c := map[string]any{"msgtype": "m.text", "body": p.Text, "m.mentions": struct{}{}}
	if p.Quiet && bridge == nil {
		c["msgtype"] = "m.notice"
	}
	spans, fold := p.Spans, p.Fold
	if bridge != nil {
		spans, fold = flatten(p), false
	}
	formatted := toHTML(p.Text, spans, fold, bridge != nil)
	if bridge != nil {
		c["body"] = harmless(p.Text, bridge.Prefix)
		formatted = harmless(formatted, bridge.Prefix)
	}
	if len(spans) > 0 || fold {
		c["format"], c["formatted_body"] = "org.matrix.custom.html", formatted
	}
	related := map[string]any{}
	if p.Place != "" && bridge == nil { // clients without threads show a reply to its beginning
		related = map[string]any{"rel_type": "m.thread", "event_id": p.Place, "is_falling_back": p.Reply == "",
			"m.in_reply_to": map[string]string{"event_id": p.Place}}
	}
	if p.Reply != "" {
		related["m.in_reply_to"] = map[string]string{"event_id": p.Reply}
	}
	if len(related) > 0 {
		c["m.relates_to"] = related
	}
	if raw, err := json.Marshal(c); err == nil && len(raw) > maxContent {
		delete(c, "format")
		delete(c, "formatted_body")
	}
	return c
}

// replace returns the content of the edit that replaces a message's content by c.
// Clients without edits show its beginning.
func replace(c map[string]any, id string) map[string]any {
	next := maps.Clone(c)
	delete(next, "m.relates_to")
	delete(next, sentMark)
	body, _ := c["body"].(string)
	return map[string]any{
		"msgtype": c["msgtype"], "body": "* " + head(body, 200), "m.mentions": struct{}{}, sentMark: c[sentMark],
		"m.new_content": next, "m.relates_to": map[string]string{"rel_type": "m.replace", "event_id": id},
	}
}

// head returns at most the first n bytes of s.
func head(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "")
}

// harmless puts an invisible character before each line that a bridge would take for a command.
func harmless(s, prefix string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		words := strings.TrimLeft(line, " \t\r\u00a0")
		if len(words) >= len(prefix) && strings.EqualFold(words[:len(prefix)], prefix) {
			lines[i] = joiner + line
		}
	}
	return strings.Join(lines, "\n")
}

// flatten returns the spans without links whose URL would make the text too long, as a
// bridge writes it after the words.
func flatten(p core.Part) []core.Span {
	room := bridgedText - len(p.Text)
	var out []core.Span
	for _, s := range p.Spans {
		if s.Kind == core.SpanLink && s.Value != p.Text[s.Start:s.End] {
			if room -= len(s.Value) + len(" ()"); room < 0 {
				room += len(s.Value) + len(" ()")
				continue
			}
		}
		out = append(out, s)
	}
	return out
}

// toHTML returns a text with its spans as HTML that Matrix allows.
func toHTML(t string, spans []core.Span, fold, bridged bool) string {
	w := &htmlWriter{text: t, bridged: bridged}
	border := strings.IndexByte(t, '\n') + 1
	if !fold || border == 0 || strings.TrimSpace(t[border:]) == "" {
		w.between(0, len(t), spans)
		return w.b.String()
	}
	w.b.WriteString("<details><summary>")
	w.between(0, border-1, spans)
	w.b.WriteString("</summary>")
	w.swallow = true
	w.between(border, len(t), spans)
	w.b.WriteString("</details>")
	return w.b.String()
}

type htmlWriter struct {
	text    string
	bridged bool
	swallow bool // the next line break belongs to a block
	b       strings.Builder
}

// between writes text[start:end] with the spans that overlap it.
func (w *htmlWriter) between(start, end int, spans []core.Span) {
	pos := start
	for i := 0; i < len(spans); {
		s := spans[i]
		inner := i + 1
		for inner < len(spans) && spans[inner].Start < s.End {
			inner++
		}
		s.Start, s.End = max(s.Start, pos), min(s.End, end)
		if s.Start < s.End {
			w.plain(w.text[pos:s.Start])
			w.element(s, spans[i+1:inner])
			pos = s.End
		}
		i = inner
	}
	w.plain(w.text[pos:end])
}

func (w *htmlWriter) plain(s string) {
	if w.swallow && s != "" {
		s = strings.TrimPrefix(s, "\n")
		w.swallow = false
	}
	w.b.WriteString(strings.ReplaceAll(html.EscapeString(s), "\n", "<br/>"))
}

func (w *htmlWriter) element(s core.Span, inner []core.Span) {
	open, shut, block := w.tags(s)
	if block {
		w.unbreak()
	}
	w.b.WriteString(open)
	w.swallow = false
	if s.Kind == core.SpanCode || s.Kind == core.SpanPre {
		w.b.WriteString(html.EscapeString(w.text[s.Start:s.End]))
	} else {
		w.between(s.Start, s.End, inner)
	}
	w.b.WriteString(shut)
	w.swallow = block
}

func (w *htmlWriter) unbreak() {
	if so, ok := strings.CutSuffix(w.b.String(), "<br/>"); ok {
		w.b.Reset()
		w.b.WriteString(so)
	}
}

// elements are the names of those of spans.
var elements = map[core.SpanKind]string{core.SpanBold: "strong", core.SpanItalic: "em", core.SpanStrike: "del",
	core.SpanCode: "code", core.SpanQuote: "blockquote", core.SpanHeading: "h4"}

// tags returns the tags of a span, and whether it is a block on lines of its own.
func (w *htmlWriter) tags(s core.Span) (open, shut string, block bool) {
	switch {
	case s.Kind == core.SpanSpoiler:
		return "<span data-mx-spoiler>", "</span>", false
	case s.Kind == core.SpanPre && s.Value != "":
		return `<pre><code class="language-` + html.EscapeString(s.Value) + `">`, "</code></pre>", true
	case s.Kind == core.SpanPre:
		return "<pre><code>", "</code></pre>", true
	case s.Kind == core.SpanLink && linkable(s.Value):
		return `<a href="` + html.EscapeString(s.Value) + `">`, "</a>", false
	case s.Kind == core.SpanHeading && w.bridged:
		s.Kind = core.SpanBold
	case elements[s.Kind] == "":
		return "", "", false
	}
	name := elements[s.Kind]
	return "<" + name + ">", "</" + name + ">", s.Kind == core.SpanQuote || s.Kind == core.SpanHeading
}

func linkable(address string) bool {
	u, err := url.Parse(address)
	return err == nil && slices.Contains([]string{"http", "https", "ftp", "mailto", "magnet"}, strings.ToLower(u.Scheme))
}
