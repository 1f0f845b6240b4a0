//go:build e2e

package web

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"

	"github.com/everthread/everthread/e2e/e2etest"
	"github.com/everthread/everthread/internal/fulltest"
)

// hostile returns texts that run pwned() if a page treats them as script.
func hostile(t *testing.T) []string {
	t.Helper()
	b, err := os.ReadFile("testdata/xss.txt")
	e2etest.Must(t, err)
	return strings.Split(strings.TrimSpace(string(b)), "\n")
}

// haunted is a gateway in which every name and text is hostile.
type haunted struct {
	*e2etest.Town
	g     *e2etest.Gateway
	texts []string
	key   string
	owner *e2etest.Guest
	l     *e2etest.Ledger
}

func newHaunted(t *testing.T) *haunted {
	t.Helper()
	w := e2etest.NewTown(t, "")
	w.UseModel(e2etest.StartModel(t, 0))
	h := &haunted{Town: w, g: w.Start("EVERTHREAD_ACCESS_POLICY=pairing", "EVERTHREAD_SUMMARIES_AFTER_MESSAGES=100000"),
		texts: hostile(t), l: w.Ledger()}
	h.owner = h.g.NewGuest(h.g.WebCode())
	h.key, _ = w.APIKey("", "chat,read,memory")
	h.owner.Post("/settings/profile", url.Values{"name": {h.texts[9]}})
	w.MustRun("apikey", "create", "--name", h.texts[7], "--scope", "read")
	for n, text := range h.texts {
		h.owner.Post("/messages", url.Values{"text": {text}, "nonce": {e2etest.NonceFor(text)}})
		h.owner.Upload(text+".txt", []byte(text))
		h.owner.Post("/threads", url.Values{"title": {text}})
		h.g.Request(http.MethodPost, "/api/v1/memory", h.key, map[string]any{"content": text, "type": "fact", "theme": text,
			"tags": []string{text}})
		h.owner.Post("/memory", url.Values{"text": {text + " again"}, "new": {text}, "type": {"fact"}})
		if n%20 == 0 { // strangers have names, too; few can wait at a time
			h.Telegram.Offer(map[string]any{"message": map[string]any{"message_id": 5000 + n,
				"date": time.Now().Unix(), "text": text, "chat": map[string]any{"id": 7000 + n, "type": "private"},
				"from": map[string]any{"id": 7000 + n, "is_bot": false,
					"first_name": text}}})
		}
	}
	h.l.Quiet(60*time.Second, h.g.Log)
	h.summarize()
	return h
}

// summarize makes the model write a hostile summary.
func (h *haunted) summarize() {
	h.T.Helper()
	body := fmt.Sprintf(
		`{"fixtures": [{"match": {"systemMessage": "You write the summary of one day"}, "response": {"content": %s}}]}`,
		e2etest.Quote("## Summary\nA hostile one. "+h.texts[0]+"\n\n## Decisions\n- "+strings.Join(h.texts,
			" [#1]\n- ")+" [#1]"))
	h.Control("/__aimock/fixtures", body)
	day := h.l.Lines(`SELECT label FROM segments ORDER BY id DESC LIMIT 1`)[0]
	if r, out := h.owner.Post("/day/"+day+"/summary", nil); r.StatusCode != http.StatusSeeOther {
		h.T.Fatalf("regenerate: %s %.300s", r.Status, out)
	}
	h.l.Until(`SELECT COUNT(*) FROM summaries WHERE body LIKE '%A hostile one. %'`, 1, h.g)
}

// No text of people or models runs as a page's script, including scripts that the page's policy
// would block. Without all tests a text is either searched for or the code of a link.
func TestWeb_runsNoWrittenScript(t *testing.T) {
	h := newHaunted(t)
	p := h.g.NewTab(t).Allow("status of 404")
	p.Do(e2etest.Command(page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{
		Source: `window.pwned = () => console.error('a script ran on ' + location.href + new Error().stack)`}))
	p.SignIn(e2etest.NewLink(h.Town, h.g))
	day := h.l.Lines(`SELECT label FROM segments ORDER BY id DESC LIMIT 1`)[0]
	first := h.l.Lines(`SELECT id FROM messages WHERE role = 'assistant' AND kind = 'chat' ORDER BY id LIMIT 1`)[0]
	paths := []string{"/", "/day/" + day, "/day/" + day + "/history", "/threads", "/memory", "/memory?archived=1&q=pwned",
		"/settings", "/settings/channels", "/settings/data", "/admin", "/admin/users", "/days", "/m/" + first, "/m/" + first + "/why", "/m/" + first + "/remember",
		"/m/" + first + "/forget", "/search?q=pwned&scope=all", "/day/" + url.PathEscape(h.texts[7])}
	for n, text := range h.texts {
		q := url.QueryEscape(text)
		both := []string{"/search?q=" + q, "/signin?code=" + q + "&next=" + q}
		if !fulltest.Asked() {
			both = both[n%2:][:1]
		}
		paths = append(paths, both...)
		if n%8 == 0 {
			paths = append(paths, "/memory?theme="+q+"&q="+q)
		}
	}
	for _, path := range paths {
		p.Open(path)
		p.Poke()
	}
	p.Open("/")
	for _, text := range h.texts[:12] { // as news, by script
		h.g.Request(http.MethodPost, "/api/v1/chat", h.key, map[string]any{"message": text + " live"})
	}
	p.Comes("document.body.innerText.includes(" + e2etest.Quote(h.texts[11]+" live") + ")")
	p.Poke()
	if !strings.Contains(p.Shown(), "pwned()") {
		t.Error("no hostile text is shown")
	}
}
