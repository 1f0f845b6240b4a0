//go:build e2e

package channels

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/everthread/everthread/e2e/e2etest"
)

// librarian is a model that searches for the question, and answers with the first page of
// a file that it found.
type librarian struct {
	mu   sync.Mutex
	seen []string // first part of each turn's prompt
}

func (l *librarian) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Messages []struct{ Role, Content string }
	}
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	last := q.Messages[len(q.Messages)-1]
	delta, finish := map[string]any{"content": "I found nothing."}, "stop"
	switch last.Role {
	case "user":
		l.mu.Lock()
		l.seen = append(l.seen, last.Content)
		l.mu.Unlock()
		asked, _ := json.Marshal(map[string]any{"query": strings.SplitN(last.Content, "?", 2)[0]}) // it is a string
		delta, finish = map[string]any{"tool_calls": []any{map[string]any{"index": 0, "id": "c1", "type": "function",
			"function": map[string]any{"name": "conversation_search", "arguments": string(asked)}}}}, "tool_calls"
	case "tool":
		var found struct {
			Results []struct {
				Kind, Name, Snippet string
				Page                int
			}
		}
		if json.Unmarshal([]byte(last.Content), &found) != nil {
			break
		}
		for _, h := range found.Results {
			if h.Kind == "file" {
				delta["content"] = fmt.Sprintf("%s, page %d: %s", h.Name, h.Page, h.Snippet)
				break
			}
		}
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, choice := range []map[string]any{{"index": 0, "delta": delta}, {"index": 0, "delta": struct{}{},
		"finish_reason": finish}} {
		b, _ := json.Marshal(map[string]any{"id": "x", "object": "chat.completion.chunk", "choices": []any{choice}}) // likewise
		fmt.Fprintf(w, "data: %s\n\n", b)
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}

// A PDF with a question: the answer waits for its text and names file and page, and so
// does the answer to a later question.
func TestDocuments_answerNamesThePageOfAPDF(t *testing.T) {
	t.Parallel()
	pdf, err := os.ReadFile("../../core/files/document/testdata/lease-chromium.pdf")
	e2etest.Must(t, err)
	l := &librarian{}
	model := httptest.NewServer(l)
	defer model.Close()
	w := e2etest.NewTown(t, "")
	w.UseModel(model.URL + "/v1")
	w.Telegram.AddFile("doc", "files/doc", pdf)
	w.ReadsPDF(t)
	g := w.Start()
	w.Telegram.Write(e2etest.Ada, map[string]any{"document": map[string]any{"file_id": "doc", "file_unique_id": "d",
		"file_name": "lease.pdf", "mime_type": "application/pdf"}, "caption": "How much is the deposit?"})
	if got := w.Sent(e2etest.Ada, 1)[0].Text; !strings.Contains(got, "lease.pdf, page 1") ||
		!strings.Contains(got, "1,450") {
		t.Errorf("the first answer is %q\n%s", got, g.Log)
	}
	w.Telegram.Write(e2etest.Ada, map[string]any{"text": "How many months of notice are there?"})
	if got := w.Sent(e2etest.Ada, 2)[1].Text; !strings.Contains(got, "lease.pdf, page 3") {
		t.Errorf("the second answer is %q", got)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if first := l.seen[0]; !strings.Contains(first, `"name":"lease.pdf","kind":"pdf","pages":3`) ||
		!strings.Contains(first, "Anna Müller") {
		t.Errorf("the model was shown %q", first)
	}
}

// A document is read on every channel, and found there by a later question.
func TestDocuments_readOnEveryChannel(t *testing.T) {
	t.Parallel()
	pdf, err := os.ReadFile("../../core/files/document/testdata/lease-chromium.pdf")
	e2etest.Must(t, err)
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		s := e2etest.NewStreet(t, database(t))
		model := httptest.NewServer(&librarian{})
		t.Cleanup(model.Close)
		s.UseModel(model.URL + "/v1")
		s.ReadsPDF(t)
		g := s.Open()
		for _, d := range s.Doors {
			d.Document(pdf, "application/pdf", "lease.pdf", "How much is the deposit?")
			if got := s.Hears(d, 1, g)[0].Text; !strings.Contains(got, ".pdf, page 1") || !strings.Contains(got, "1,450") {
				t.Errorf("%s: the first answer is %q", d.Channel, got)
			}
			d.Say("How many months of notice are there?")
			if got := s.Hears(d, 2, g)[1].Text; !strings.Contains(got, ".pdf, page 3") {
				t.Errorf("%s: the second answer is %q", d.Channel, got)
			}
		}
	})
}

// A document from the page's form is read, and answers a question there.
func TestDocuments_readFromThePage(t *testing.T) {
	t.Parallel()
	pdf, err := os.ReadFile("../../core/files/document/testdata/lease-chromium.pdf")
	e2etest.Must(t, err)
	model := httptest.NewServer(&librarian{})
	t.Cleanup(model.Close)
	w := e2etest.NewTown(t, "")
	w.UseModel(model.URL + "/v1")
	w.ReadsPDF(t)
	g := w.Start()
	v := g.NewGuest(g.WebCode())
	v.Upload("lease.pdf", pdf)
	l := w.Ledger()
	l.Until(`SELECT COUNT(*) FROM file_pages`, 3, g)
	v.Post("/messages", url.Values{"text": {"How many months of notice are there?"}, "nonce": {e2etest.NonceFor("notice")}})
	l.Until(`SELECT COUNT(*) FROM messages WHERE role = 'assistant' AND body LIKE 'lease.pdf, page 3:%'`, 1, g)
	if _, page := v.Get("/search?q=deposit"); !strings.Contains(page, "lease.pdf, page 1") {
		t.Errorf("the page's search does not find the file: %.2000s", page)
	}
}

// In a relative data folder, which is the default, the machine code of the PDF reader is kept. The page says why a file
// was not read.
func TestDocuments_readInTheDefaultDataFolder(t *testing.T) {
	t.Parallel()
	w := e2etest.NewTown(t, "")
	g := w.Start("EVERTHREAD_DATA_DIR=./data")
	v := g.NewGuest(g.WebCode())
	for _, name := range []string{"lease-chromium.pdf", "lease-locked.pdf"} {
		pdf, err := os.ReadFile("../../core/files/document/testdata/" + name)
		e2etest.Must(t, err)
		v.Upload(name, pdf)
	}
	w.Dir = filepath.Join(w.Dir, "data")
	w.Ledger().Until(`SELECT COUNT(*) FROM messages WHERE extra LIKE '%"problem":"encrypted"%'`, 1, g)
	w.Ledger().Until(`SELECT COUNT(*) FROM file_pages`, 3, g)
	if kept, err := filepath.Glob(filepath.Join(w.Dir, "cache", "pdfium", "*", "*")); len(kept) == 0 || err != nil {
		t.Errorf("the machine code was not kept: %v", err)
	}
	_, page := v.Get("/")
	if strings.Count(page, `class="unread"`) != 1 || !strings.Contains(page, "locked with a password") {
		t.Errorf("the page does not say why a file was not read: %.2000s", page)
	}
}
