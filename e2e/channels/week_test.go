//go:build e2e

package channels

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/everthread/everthread/e2e/e2etest"
)

// secretary is a model that writes a briefing with a tool, searches the conversation and
// files for questions about notice, and otherwise just answers.
type secretary struct {
	mu      sync.Mutex
	prompts int
	without int // prompts without the standing instruction
}

func (s *secretary) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Messages []struct{ Role, Content string }
		Tools    []any
	}
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var all strings.Builder
	for _, m := range q.Messages {
		all.WriteString(m.Content)
	}
	last := q.Messages[len(q.Messages)-1]
	if len(q.Tools) > 0 { // a turn, not a summary
		s.mu.Lock()
		s.prompts++
		if !strings.Contains(all.String(), "in one line") {
			s.without++
		}
		s.mu.Unlock()
	}
	call := func(name, arguments string) (map[string]any, string) {
		return map[string]any{"tool_calls": []any{map[string]any{"index": 0, "id": "c1", "type": "function",
			"function": map[string]any{"name": name, "arguments": arguments}}}}, "tool_calls"
	}
	delta, finish := map[string]any{"content": "Fine."}, "stop"
	switch {
	case len(q.Tools) == 0:
		delta["content"] = "## Summary\nThey talked [#" + summed.FindStringSubmatch(all.String())[1] + "]."
	case last.Role == "tool":
		delta["content"] = "It is done: " + fileHit(last.Content)
	case strings.Contains(last.Content, "brief me"):
		delta, finish = call("shop_mail", `{"to":"ann"}`)
	case strings.Contains(last.Content, "months of notice"):
		delta, finish = call("conversation_search", `{"query":"months of notice"}`)
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, choice := range []map[string]any{{"index": 0, "delta": delta}, {"index": 0, "delta": struct{}{},
		"finish_reason": finish}} {
		b, _ := json.Marshal(map[string]any{"id": "x", "object": "chat.completion.chunk", "choices": []any{choice}})
		fmt.Fprintf(w, "data: %s\n\n", b)
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}

var summed = regexp.MustCompile(`"id":(\d+)`) // a message to summarise

// fileHit returns the first page of a file in the result of a search, else the result.
func fileHit(result string) string {
	var found struct {
		Results []struct {
			Kind, Name, Snippet string
			Page                int
		}
	}
	if json.Unmarshal([]byte(result), &found) == nil {
		for _, h := range found.Results {
			if h.Kind == "file" {
				return fmt.Sprintf("%s, page %d: %s", h.Name, h.Page, h.Snippet)
			}
		}
	}
	return result
}

// A week: a standing instruction, a briefing each weekday that needs an approval, a
// contract and a spoken question about it three days later; then everything moves to a
// gateway on the other database, and continues there.
func TestWeek_goesOnElsewhere(t *testing.T) {
	t.Parallel()
	for name, stores := range map[string][2]func(*testing.T) string{
		"sqlite to postgres": {func(*testing.T) string { return "" }, e2etest.NewStore},
		"postgres to sqlite": {e2etest.NewStore, func(*testing.T) string { return "" }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &secretary{}
			model := httptest.NewServer(s)
			t.Cleanup(model.Close)
			scribe := e2etest.NewScribe(t)
			at := func(database string) (*e2etest.Week, string, *e2etest.Gateway) {
				w := e2etest.NewClock(t, database)
				w.UseModel(model.URL + "/v1")
				w.HearsWith(scribe)
				path := w.Shops(t)
				w.ReadsPDF(t)
				g := w.Start()
				g.Up()
				w.Ask("/start " + g.Logged(`/start ([A-Z0-9]{10})`)[1])
				return w, path, g
			}
			w, path, g := at(stores[0](t))
			said := func(w *e2etest.Week, got, want string) {
				t.Helper()
				if !strings.Contains(got, want) {
					t.Errorf("on %s: %q, want %q", w.Now().Format(time.RFC1123), got, want)
				}
			}
			brief := func(w *e2etest.Week, path string, day, mails int) {
				t.Helper()
				w.Set(time.Date(2026, 10, day, 7, 30, 1, 0, w.Zone))
				said(w, w.Receive().Text, "shop_mail")
				code := w.Ledger().Lines(`SELECT code FROM approvals WHERE state = 'open'`)[0]
				said(w, w.Ask("/yes "+code).Text, "It is done: ")
				if n := len(e2etest.Calls(t, path)); n != mails {
					t.Errorf("%d mails on the %dth, want %d", n, day, mails)
				}
			}
			said(w, w.Ask("/always answer in one line").Text, "in one line")
			said(w, w.Ask("/task every weekday at 7:30 brief me").Text, "every weekday")
			contract(t, w)
			w.Ledger().Until(`SELECT COUNT(*) FROM file_pages`, 3, g)
			brief(w, path, 26, 1)
			brief(w, path, 27, 2)
			w.Set(w.Now().Add(time.Hour))
			said(w, w.Receive().Text, "Summary: Monday 26 October")
			said(w, asks(w, "How many months of notice are there?"), "lease.pdf, page 3")
			w.Settle(w.Ledger(), g)
			_, page := g.NewGuest(w.SignInCode("1")).Get("/day/2026-10-24")
			if !strings.Contains(page, "lease.pdf") {
				t.Error("the page does not show the contract on its day")
			}
			g.Stop()
			file := filepath.Join(t.TempDir(), "all.zip")
			w.MustRun("export", "--out", file)

			there, path, g := at(stores[1](t))
			there.Set(w.Now().Add(time.Hour))
			there.MustRun("import", "jsonl", file, "--user", "1")
			l := there.Ledger()
			l.Until(`SELECT COUNT(*) FROM file_pages`, 3, g)
			l.Until(`SELECT COUNT(*) FROM messages WHERE role = 'user' AND body LIKE '%months of notice are there?%'`, 1, g)
			said(there, there.Receive().Text, "Always do this from now on?") // what an archive wants for good asks first
			said(there, there.Ask("/yes "+l.Lines(`SELECT code FROM approvals WHERE state = 'open'`)[0]).Text, "in one line")
			said(there, there.Ask("/task resume "+l.Lines(`SELECT id FROM plans WHERE state = 'paused'`)[0]).Text, "Resumed:")
			said(there, asks(there, "Once more: how many months of notice?"), "lease.pdf, page 3")
			brief(there, path, 28, 1)
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.without > 0 || s.prompts < 10 {
				t.Errorf("%d of %d prompts without what is wanted always", s.without, s.prompts)
			}
		})
	}
}

// offers sends a message of Ada with the fields, at the week's time, and returns the answer.
func offers(w *e2etest.Week, fields map[string]any) string {
	w.T.Helper()
	w.Next++
	fields["message_id"], fields["date"] = w.Next, w.Now().Unix()
	fields["chat"] = map[string]any{"id": e2etest.Ada, "type": "private"}
	fields["from"] = map[string]any{"id": e2etest.Ada, "is_bot": false, "first_name": "Ada", "language_code": "en"}
	w.Telegram.Offer(map[string]any{"message": fields})
	return w.Receive().Text
}

// contract sends a contract.
func contract(t *testing.T, w *e2etest.Week) {
	t.Helper()
	pdf, err := os.ReadFile("../../core/files/document/testdata/lease-chromium.pdf")
	e2etest.Must(t, err)
	w.Telegram.AddFile("doc", "files/doc", pdf)
	offers(w, map[string]any{"document": map[string]any{"file_id": "doc", "file_unique_id": "d", "file_name": "lease.pdf",
		"mime_type": "application/pdf"}, "caption": "Keep this contract."})
}

// asks asks by voice.
func asks(w *e2etest.Week, words string) string {
	w.T.Helper()
	w.Telegram.AddFile(words, "voice/"+fmt.Sprint(w.Next), recording(words))
	return offers(w, map[string]any{"voice": map[string]any{"file_id": words, "file_unique_id": words, "duration": 3,
		"mime_type": "audio/ogg"}})
}
