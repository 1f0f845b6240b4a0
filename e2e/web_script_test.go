//go:build e2e

package e2e

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// hostile are texts that run pwned() where a page takes them for its own.
func hostile(t *testing.T) []string {
	t.Helper()
	b, err := os.ReadFile("testdata/xss.txt")
	must(t, err)
	return strings.Split(strings.TrimSpace(string(b)), "\n")
}

// haunted is a town in which everything that has a name or a text is hostile.
type haunted struct {
	*town
	g     *gateway
	texts []string
	key   string
	owner *guest
	l     *ledger
}

func newHaunted(t *testing.T) *haunted {
	t.Helper()
	w := newTown(t, "")
	w.useModel(startModel(t, 0))
	h := &haunted{town: w, g: w.start("EVERTHREAD_ACCESS_POLICY=pairing", "EVERTHREAD_SUMMARIES_AFTER_MESSAGES=100000"), texts: hostile(t), l: w.ledger()}
	h.owner = h.g.newGuest(h.g.webCode())
	h.key, _ = w.apiKey("", "chat,read,memory")
	h.owner.post("/settings/name", url.Values{"name": {h.texts[9]}})
	w.mustRun("apikey", "create", "--name", h.texts[7], "--scope", "read")
	for n, text := range h.texts {
		h.owner.post("/messages", url.Values{"text": {text}, "nonce": {nonceFor(text)}})
		h.owner.upload(text+".txt", []byte(text))
		h.owner.post("/threads", url.Values{"title": {text}})
		h.g.request(http.MethodPost, "/api/v1/memory", h.key, map[string]any{"content": text, "type": "fact", "theme": text, "tags": []string{text}})
		h.owner.post("/memory", url.Values{"text": {text + " again"}, "new": {text}, "type": {"fact"}})
		if n%20 == 0 { // who asks to be let in has a name, too; there are few at a time
			h.telegram.Offer(map[string]any{"message": map[string]any{"message_id": 5000 + n, "date": time.Now().Unix(), "text": text,
				"chat": map[string]any{"id": 7000 + n, "type": "private"}, "from": map[string]any{"id": 7000 + n, "is_bot": false, "first_name": text}}})
		}
	}
	h.l.quiet(60*time.Second, h.g.log)
	h.summarize()
	return h
}

// summarize has the model write a summary that is hostile.
func (h *haunted) summarize() {
	h.t.Helper()
	body := fmt.Sprintf(`{"fixtures": [{"match": {"systemMessage": "You write the summary of one day"}, "response": {"content": %s}}]}`,
		quote("## Summary\nA hostile one. "+h.texts[0]+"\n\n## Decisions\n- "+strings.Join(h.texts, " [#1]\n- ")+" [#1]"))
	h.control("/__aimock/fixtures", body)
	day := h.l.lines(`SELECT label FROM segments ORDER BY id DESC LIMIT 1`)[0]
	if r, out := h.owner.post("/day/"+day+"/summary", nil); r.StatusCode != http.StatusSeeOther {
		h.t.Fatalf("regenerate: %s %.300s", r.Status, out)
	}
	h.l.until(`SELECT COUNT(*) FROM summaries WHERE body LIKE '%A hostile one. %'`, 1, h.g)
}

// Whatever people and models write, no page takes it for its own script: not even
// what its policy would stop.
func TestNothingThatIsWrittenRuns(t *testing.T) {
	h := newHaunted(t)
	p := h.g.newTab(t).allow("status of 404")
	p.do(command(page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{
		Source: `window.pwned = () => console.error('a script ran on ' + location.href + new Error().stack)`}))
	p.signIn(newLink(h.town, h.g))
	day := h.l.lines(`SELECT label FROM segments ORDER BY id DESC LIMIT 1`)[0]
	first := h.l.lines(`SELECT id FROM messages WHERE role = 'assistant' AND kind = 'chat' ORDER BY id LIMIT 1`)[0]
	paths := []string{"/", "/day/" + day, "/day/" + day + "/history", "/threads", "/memory", "/memory?archived=1&q=pwned", "/settings", "/admin", "/days",
		"/m/" + first, "/m/" + first + "/why", "/m/" + first + "/remember", "/m/" + first + "/forget", "/search?q=pwned&scope=all", "/day/" + url.PathEscape(h.texts[7])}
	for n, text := range h.texts {
		paths = append(paths, "/search?q="+url.QueryEscape(text), "/signin?code="+url.QueryEscape(text)+"&next="+url.QueryEscape(text))
		if n%8 == 0 {
			paths = append(paths, "/memory?theme="+url.QueryEscape(text)+"&q="+url.QueryEscape(text))
		}
	}
	for _, path := range paths {
		p.open(path)
		p.poke()
	}
	p.open("/")
	for _, text := range h.texts[:12] { // as news, by script
		h.g.request(http.MethodPost, "/api/v1/chat", h.key, map[string]any{"message": text + " live"})
	}
	p.comes("document.body.innerText.includes(" + quote(h.texts[11]+" live") + ")")
	p.poke()
	if !strings.Contains(p.shown(), "pwned()") {
		t.Error("nothing hostile is shown at all")
	}
}

// poke does what a person may do by chance: it touches everything that was
// written, and follows no link.
func (p *tab) poke() {
	p.t.Helper()
	js[chromedp.Void](p, `(() => {
		document.querySelectorAll('details').forEach((x) => { x.open = true; });
		document.querySelectorAll('main *').forEach((x) => { for (const kind of ['mouseover', 'focus', 'mouseenter', 'pointerover', 'toggle']) x.dispatchEvent(new Event(kind)); });
		document.querySelectorAll('.prose a').forEach((x) => { if (/^(javascript|data|vbscript):/i.test(x.href)) console.error('a link leads to ' + x.href); });
		document.querySelectorAll('main script, main iframe, main object, main embed, main base, main meta, main style, main link').forEach((x) => console.error('there is a ' + x.outerHTML));
	})()`)
}
