package chat

import (
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/everthread/everthread/adapters/web/webtest"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
)

// letters counts one token per letter.
type letters struct{}

// Count returns the length of a text.
func (letters) Count(text string) int { return len(text) }

func TestCopy_asWritten(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.Ana.SignedIn()
	_, a := p.Talks("how?", "**So**:\n\n```go\nx := 1 < 2\n```")
	got := p.Get(fmt.Sprintf("/m/%d/text", a))
	if got.Body != "**So**:\n\n```go\nx := 1 < 2\n```" || got.Header.Get("Content-Type") != "text/plain; charset=utf-8" {
		t.Errorf("got %q as %s", got.Body, got.Header.Get("Content-Type"))
	}
	w.Bob.SignedIn().Get(fmt.Sprintf("/m/%d/text", a)).Wants(t, http.StatusNotFound)
}

func TestReply_quotes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.Ana.SignedIn()
	q, a := p.Talks("a question", "an **answer**")
	to := p.Get(fmt.Sprintf("/m/%d/reply", a)).Header.Get("Location")
	if to != fmt.Sprintf("/?reply=%d#text", a) {
		t.Fatalf("it leads to %s", to)
	}
	p.Get(strings.TrimSuffix(to, "#text")).Wants(t, 200,
		fmt.Sprintf(`name="reply" value="%d"`, a), "In reply to the assistant</b> <span dir=\"auto\">an answer<")
	p.Get("/").Wants(t, 200, `id="replying" hidden`)
	p.Get("/?reply=4711").Wants(t, 200, `id="replying" hidden`)
	for n, c := range []struct {
		reply core.MessageID
		want  core.Quote
	}{{a, core.Quote{Text: "an **answer**", Mine: true, Message: a}}, {q, core.Quote{Text: "a question", Message: q}}} {
		form := map[string]string{"text": "why?", "nonce": fmt.Sprintf("0123456789abcdef%d", n), "reply": fmt.Sprint(c.reply)}
		p.Upload("/messages", form, nil).Wants(t, http.StatusSeeOther)
		if got := w.Gate.Received[n].Quote; !reflect.DeepEqual(got, &c.want) {
			t.Errorf("it quotes %+v", got)
		}
	}
	p.Get("/").Wants(t, 200, "In reply to the assistant</b> <bdi>an answer")
	foreign := url.Values{"text": {"x"}, "nonce": {"0123456789abcdef9"}, "reply": {fmt.Sprint(a)}}
	w.Bob.SignedIn().Post("/messages", foreign).Wants(t, http.StatusConflict, "was deleted")
}

func TestAgain_answersTheNewest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.Ana.SignedIn()
	old, _ := p.Talks("first", "1")
	q, first := p.Talks("second", "2")
	page := p.Get("/")
	page.Wants(t, 200, fmt.Sprintf(`action="/m/%d/again"`, q), fmt.Sprintf(`href="/m/%d/edit"`, q),
		fmt.Sprintf(`href="/m/%d/unsend"`, q))
	page.Lacks(t, fmt.Sprintf(`/m/%d/again`, old), fmt.Sprintf(`/m/%d/edit`, old), "Answer 1 of")
	p.Post(fmt.Sprintf("/m/%d/again", old), nil).Wants(t, http.StatusConflict, "Only the newest message")
	w.Bob.SignedIn().Post(fmt.Sprintf("/m/%d/again", q), nil).Wants(t, http.StatusNotFound)

	p.Post(fmt.Sprintf("/m/%d/again", q), nil).Wants(t, http.StatusSeeOther)
	turn := p.Turn()
	p.Post(fmt.Sprintf("/m/%d/again", q), nil).Wants(t, http.StatusConflict, "once it has its answer")
	second := p.Replies(turn, "two")
	page = p.Get("/")
	page.Wants(t, 200, "Answer 2 of 2", `aria-label="Previous answer"`)
	page.Lacks(t, `aria-label="Next answer"`)
	if got := page.Shown(); slices.Contains(got, webtest.Name(first)) || !slices.Contains(got, webtest.Name(second)) {
		t.Errorf("the page shows %v", got)
	}
	turns := regexp.MustCompile(`name="turn" value="(\d+)"`).FindStringSubmatch(page.Body)
	p.Post(fmt.Sprintf("/m/%d/answer", q), url.Values{"turn": {turns[1]}}).Wants(t, http.StatusSeeOther)
	page = p.Get("/")
	page.Wants(t, 200, "Answer 1 of 2", `aria-label="Next answer"`)
	if got := page.Shown(); !slices.Contains(got, webtest.Name(first)) || slices.Contains(got, webtest.Name(second)) {
		t.Errorf("the page shows %v", got)
	}
	for turn, want := range map[string]int{"4711": http.StatusConflict, "x": http.StatusNotFound,
		"": http.StatusNotFound} {
		p.Post(fmt.Sprintf("/m/%d/answer", q), url.Values{"turn": {turn}}).Wants(t, want)
	}
}

func TestAgain_saysWhatTheEarlierAnswerDid(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.Ana.SignedIn()
	q := p.Says("remind me")
	calls := core.NewMessage{Role: core.RoleAssistant, ToolCalls: []core.ToolCall{
		{ID: "a", Name: "reminder_set", Arguments: "{}"}, {ID: "b", Name: "time_now", Arguments: "{}"}}}
	p.Answers("I do", calls, core.NewMessage{Role: core.RoleTool, ToolCallID: "a", ToolName: "reminder_set", Text: "{}"},
		core.NewMessage{Role: core.RoleTool, ToolCallID: "b", ToolName: "time_now", Text: "{}"})
	p.Post(fmt.Sprintf("/m/%d/again", q), nil).Wants(t, http.StatusSeeOther)
	p.Answers("I do not")
	page := p.Get("/")
	page.Wants(t, 200, "What an earlier answer did is not undone: Set a reminder</span>")
}

func TestEdit_isAnsweredAnew(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *Options) { o.Tokens = letters{} })
	p := w.Ana.SignedIn()
	q, _ := p.Talks("a ridle?", "an aardvark")
	edit := fmt.Sprintf("/m/%d/edit", q)
	p.Get(edit).Wants(t, 200, ">a ridle?</textarea>", "The earlier text and answer are saved")
	p.Post(edit, url.Values{"text": {" "}}).Wants(t, http.StatusBadRequest, "Write something")
	p.Post(edit, url.Values{"text": {strings.Repeat("x", maxText+1)}}).Wants(t, http.StatusRequestEntityTooLarge)
	p.Post(edit, url.Values{"text": {"a riddle?"}}).Wants(t, http.StatusSeeOther)
	if e, ok := w.Gate.Acted[0].(effect.Regenerate); !ok || e.Tokens != len("a riddle?") || len(w.Gate.Acted) != 1 {
		t.Errorf("it did %+v", w.Gate.Acted)
	}
	p.Answers("a badger")
	p.Get("/").Wants(t, 200, "a riddle?", "a badger", "Answer 2 of 2", fmt.Sprintf("/m/%d/earlier", q))
	w.Bob.SignedIn().Post(edit, url.Values{"text": {"mine"}}).Wants(t, http.StatusNotFound)

	with := p.Says("look\n[photo]", func(s *webtest.Said) {
		s.Files = []core.Attachment{{Kind: "photo", Name: "sail.png", MIME: "image/png", Path: "1/x"}}
	})
	p.Answers("I see")
	p.Get(fmt.Sprintf("/m/%d/edit", with)).Wants(t, 200, ">look</textarea>")
	p.Post(fmt.Sprintf("/m/%d/edit", with), url.Values{"text": {"look at it"}}).Wants(t, http.StatusSeeOther)
	m, err := w.Store.Messages(w.Context, p.User.ID, []core.MessageID{with})
	w.Must(err)
	if m[0].Text != "look at it\n[photo]" {
		t.Errorf("got text %q", m[0].Text)
	}
}

func TestUnsend_undoesSending(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.Ana.SignedIn()
	p.Talks("stays", "stays too")
	q, a := p.Talks("a secret", "a secret, yes")
	undo := fmt.Sprintf("/m/%d/unsend", q)
	p.Get(undo).Wants(t, 200, "a secret", "And the answer:", "a secret, yes", "Forget both")
	if len(w.Gate.Acted) > 0 {
		t.Fatal("a look undid it")
	}
	w.Bob.SignedIn().Post(undo, nil).Wants(t, http.StatusNotFound)
	p.Post(fmt.Sprintf("/m/%d/unsend", a), nil).Wants(t, http.StatusNotFound)
	p.Post(undo, nil).Wants(t, http.StatusSeeOther)
	page := p.Get("/")
	page.Lacks(t, "a secret")
	page.Wants(t, 200, "stays too")
	if len(w.Gate.Acted) != 2 {
		t.Errorf("it did %v", w.Gate.Acted)
	}
}

// TestLive_followsAnotherAnswer checks that a replaced entry is no longer in the order.
func TestLive_followsAnotherAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Follows()
	p := w.Ana.SignedIn()
	p.Talks("one", "1")
	q, a := p.Talks("two", "2")
	s := p.Watch("/live?day=2026-01-31&last="+url.QueryEscape(webtest.LastIn(t, p.Get("/").Body)), "")
	s.Until("state", "entry")
	p.Post(fmt.Sprintf("/m/%d/again", q), nil).Wants(t, http.StatusSeeOther)
	for {
		if e := s.Next("order"); !strings.Contains(e.Data, webtest.Name(a)) {
			break
		}
	}
	p.Answers("II")
	for !strings.Contains(s.Next("entry").Data, "Answer 2 of 2") {
		continue // other entries change too
	}
}

func TestCommands_areListed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.Ana.SignedIn()
	p.Get("/commands").Wants(t, 200, "<dt>/today</dt><dd>", "<dt>/forget</dt><dd>")
}

// TestKeys_listIsTrue compares the keys listed on the page with those in its scripts.
func TestKeys_listIsTrue(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	page := w.Ana.SignedIn().Get("/").Body
	_, dialog, _ := strings.Cut(page, `<dialog id="shortcuts"`)
	dialog, _, _ = strings.Cut(dialog, "</dialog>")
	var listed []string
	for _, m := range regexp.MustCompile(`<kbd>([^<]+)</kbd>`).FindAllStringSubmatch(dialog, -1) {
		listed = append(listed, m[1])
	}
	own, err := fs.ReadFile(files, "static/chat.js")
	w.Must(err)
	shell, err := os.ReadFile("../static/app.js")
	w.Must(err)
	known := []string{"Enter", "Shift", "Esc"}
	for _, m := range regexp.MustCompile(`(?m)^    (?:"(.)"|(\w)): \(\) => `).FindAllStringSubmatch(string(own)+string(shell),
		-1) {
		known = append(known, m[1]+m[2])
	}
	for _, m := range regexp.MustCompile(`data-key="(\w)"`).FindAllStringSubmatch(page, -1) {
		known = append(known, m[1])
	}
	for _, key := range listed {
		if !slices.Contains(known, key) {
			t.Errorf("%s is listed, and does nothing", key)
		}
	}
	for _, key := range known {
		if !slices.Contains(listed, key) {
			t.Errorf("%s is not listed", key)
		}
	}
	if len(listed) < 18 {
		t.Errorf("only %v are listed", listed)
	}
}
