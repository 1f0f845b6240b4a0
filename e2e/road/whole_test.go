//go:build e2e

package road

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/everthread/everthread/adapters/whatsapp/whatsapptest"
	"github.com/everthread/everthread/e2e/e2etest"
)

// What people read below an answer that lacks its end.
const (
	tooLong  = "… The answer got too long and was cut off here."
	filtered = "The model's provider stopped the answer here."
	broke    = "… The connection to the model broke off here."
	goesOn   = " /continue goes on."
)

// events streams the events of an answer; without [DONE] the stream just ends.
func events(all ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		for _, e := range all {
			name := struct{ Type string }{}
			if json.Unmarshal([]byte(e), &name); name.Type != "" {
				fmt.Fprintf(w, "event: %s\n", name.Type)
			}
			fmt.Fprintf(w, "data: %s\n\n", e)
		}
	}
}

// piece is an event of OpenAI's with a delta and, unless it is empty, the reason for the end.
func piece(delta, finish string) string {
	reason := "null"
	if finish != "" {
		reason = `"` + finish + `"`
	}
	return `{"choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + reason + `}]}`
}

// block is a block of Anthropic's with a text.
func block(n int, kind, field, text string) []string {
	return []string{fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":{"type":%q,%q:""}}`, n, kind, field),
		fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":"%s_delta",%q:%q}}`, n, field, field, text),
		fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, n)}
}

// claude is an answer of Anthropic's.
func claude(stop string, blocks ...[]string) http.HandlerFunc {
	return events(slices.Concat([]string{`{"type":"message_start","message":{"id":"m","type":"message","role":"assistant",` +
		`"model":"claude","content":[],"usage":{"input_tokens":9,"output_tokens":1}}}`}, slices.Concat(blocks...),
		[]string{`{"type":"message_delta","delta":{"stop_reason":"` + stop + `"},"usage":{"output_tokens":5}}`,
			`{"type":"message_stop"}`})...)
}

// ending is one way in which an answer ends.
type ending struct {
	model http.HandlerFunc
	asks  int    // requests that it gets
	mark  string // below "Once upo"; empty: there is no answer
	told  string // instead of an answer
}

const once = `{"content":"Once upo"}`

func openaiEndings() map[string]ending {
	return map[string]ending{
		"a limit":                       {events(piece(once, ""), piece("{}", "length"), "[DONE]"), 1, tooLong, ""},
		"a limit before the first word": {events(piece("{}", "length"), "[DONE]"), 2, "", "with thinking"},
		"thoughts alone": {events(piece(`{"reasoning_content":"Hmm."}`, ""), piece("{}", "length"), "[DONE]"), 2, "",
			"llm.reasoning_effort"},
		"thoughts that never close": {events(piece(`{"content":"<think>Hmm, and"}`, "stop"), "[DONE]"), 2, "",
			"llm.max_output_tokens"},
		"thoughts, then a limit": {events(piece(`{"reasoning_content":"Hmm."}`, ""), piece(once, "length"), "[DONE]"), 1,
			tooLong, ""},
		"no end": {events(piece(once, "")), 1, broke, ""},
		"a connection that breaks": {func(w http.ResponseWriter, r *http.Request) {
			events(piece(once, ""))(w, r)
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}, 1, broke, ""},
		"an error inside": {events(piece(once, ""), `{"error":{"message":"overloaded","code":500}}`, "[DONE]"), 1, broke,
			""},
		"usage only": {events(`{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":0}}`, "[DONE]"), 2, "",
			"echo: usage only"},
		"a filter":                       {events(piece(once, ""), piece("{}", "content_filter"), "[DONE]"), 1, filtered, ""},
		"a filter before the first word": {events(piece("{}", "content_filter"), "[DONE]"), 1, "", "didn't accept"},
	}
}

func claudeEndings() map[string]ending {
	thought, text := block(0, "thinking", "thinking", "Hmm."), block(1, "text", "text", "Once upo")
	return map[string]ending{
		"a limit after thoughts": {claude("max_tokens", thought, text), 1, tooLong, ""},
		"thoughts alone":         {claude("max_tokens", thought), 2, "", "with thinking"},
		"a refusal":              {claude("refusal", text), 1, filtered, ""},
	}
}

// reader keeps what a model is asked, and answers with f.
type reader struct {
	mu   sync.Mutex
	body []byte
	f    http.HandlerFunc
}

func (r *reader) serve(w http.ResponseWriter, q *http.Request) {
	body, _ := io.ReadAll(q.Body)
	r.mu.Lock()
	r.body = body
	r.mu.Unlock()
	r.f(w, q)
}

// asked fails the test unless the model read the answer without a mark, and the request to go on.
func (r *reader) asked(t *testing.T) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if !bytes.Contains(r.body, []byte(`"Once upo"`)) || !bytes.Contains(r.body, []byte("Go on exactly where")) ||
		bytes.Contains(r.body, []byte("/continue goes on")) || bytes.Contains(r.body, []byte("cut off here")) {
		t.Errorf("the model read %s", r.body)
	}
}

// TestAnswer_saysThatItLacksItsEnd ends answers in every way of both protocols. What was written is kept and continued;
// where nothing was, the person reads why, and the model is not asked forever.
func TestAnswer_saysThatItLacksItsEnd(t *testing.T) {
	t.Parallel()
	rest := map[string]http.HandlerFunc{"openai": events(piece(`{"content":"n a time."}`, "stop"), "[DONE]"),
		"anthropic": claude("end_turn", block(0, "text", "text", "n a time."))}
	for provider, endings := range map[string]map[string]ending{"openai": openaiEndings(), "anthropic": claudeEndings()} {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			w := e2etest.NewTown(t, "")
			m := newMoody(t)
			w.UseModel(m.URL)
			w.Env = append(w.Env, "EVERTHREAD_LLM_PROVIDER="+provider, "EVERTHREAD_LLM_MODEL=thinker",
				"EVERTHREAD_SUMMARY_LLM_PROVIDER=demo")
			if provider == "anthropic" {
				w.Env = append(w.Env, "EVERTHREAD_LLM_BASE_URL="+m.URL)
			}
			g := w.Start()
			w.AddOwner(g)
			n := len(w.Telegram.Sent(e2etest.Ada))
			say := func(text string) string {
				w.Telegram.Say(e2etest.Ada, text)
				n++
				return w.Sent(e2etest.Ada, n)[n-1].Text
			}
			for name, e := range endings {
				m.trouble(e.asks, e.model)
				before, got := m.requests(), say(name)
				if e.mark == "" {
					if asked := m.requests() - before; !strings.Contains(got, e.told) || asked > e.asks+1 {
						t.Errorf("%s: %q after %d requests\n%s", name, got, asked, g.Log.Tail())
					}
					continue
				}
				last := w.Sent(e2etest.Ada, n)[n-1]
				if want := "Once upo\n\n" + e.mark + goesOn; got != want || !strings.Contains(last.Markup, `"/continue"`) {
					t.Errorf("%s: %q with %s, want %q\n%s", name, got, last.Markup, want, g.Log.Tail())
				}
				r := &reader{f: rest[provider]}
				m.trouble(1, r.serve)
				w.Telegram.Press(e2etest.Ada, last.ID, "/continue")
				n++
				if next := w.Sent(e2etest.Ada, n)[n-1]; next.Text != "n a time." || next.Markup != "" {
					t.Errorf("%s: it goes on as %q, %s", name, next.Text, next.Markup)
				}
				r.asked(t)
				if got := say("/continue"); !strings.Contains(got, "is whole") {
					t.Errorf("%s: again: %q", name, got)
				}
			}
		})
	}
}

// TestAnswer_lacksItsEndAtEveryDoor cuts an answer off at every door, and goes on there.
func TestAnswer_lacksItsEndAtEveryDoor(t *testing.T) {
	t.Parallel()
	w := e2etest.NewTown(t, "")
	m := newMoody(t)
	w.UseModel(m.URL)
	w.Env = append(w.Env, "EVERTHREAD_SUMMARY_LLM_PROVIDER=demo")
	wa := w.OnWhatsApp()
	g := w.Start()
	wa.Webhook(g.URL + "/webhooks/whatsapp")
	w.AddOwner(g)
	key, _ := w.APIKey("", "chat")
	limit := openaiEndings()["a limit"].model
	r := &reader{f: events(piece(`{"content":"n a time."}`, "stop"), "[DONE]")}
	cut := func() { m.trouble(1, limit); m.trouble(1, r.serve) }

	bob := whatsapptest.Person{Phone: "16505551234", UserID: "US.1", Name: "Bob"}
	cut()
	wa.Say(bob, "a tale")
	got := whatsApp(t, g, wa, 1)
	if got.Text != "Once upo\n\n_"+tooLong+goesOn+"_" || len(got.Buttons) != 1 || got.Buttons[0].Title != "Continue" {
		t.Errorf("WhatsApp: %+v", got)
	}
	wa.Tap(bob, got, 0)
	if got := whatsApp(t, g, wa, 2); got.Text != "n a time." {
		t.Errorf("WhatsApp goes on as %+v", got)
	}
	r.asked(t)

	cut()
	page(t, w, g)
	r.asked(t)

	for _, stream := range []bool{false, true} {
		cut()
		for _, c := range []struct{ text, said, finish string }{{"a tale", `"Once upo"`, `"finish_reason":"length"`},
			{"/continue", `"n a time."`, `"finish_reason":"stop"`}} {
			_, out := g.Request(http.MethodPost, "/v1/chat/completions", key, map[string]any{"model": "everthread",
				"stream": stream, "messages": []any{map[string]any{"role": "user", "content": c.text}}})
			if !strings.Contains(out, c.said) || !strings.Contains(out, c.finish) || strings.Contains(out, "cut off") {
				t.Errorf("/v1, stream %t, %s: %s", stream, c.text, out)
			}
		}
		r.asked(t)
	}
	cut()
	for _, c := range []struct{ body, want string }{{`{"message":"a tale"}`, `"unfinished":"length"`},
		{`{"command":"/continue"}`, `"reply":"n a time."`}, {`{"command":"/continue"}`, "is whole"}} {
		if _, out := g.Request(http.MethodPost, "/api/v1/chat", key, []byte(c.body)); !strings.Contains(out, c.want) {
			t.Errorf("/api/v1, %s: %s", c.body, out)
		}
	}
	cut()
	chat := exec.Command(w.Program, "chat")
	chat.Dir, chat.Env, chat.Stdin = w.Dir, append(os.Environ(), w.Env...), strings.NewReader("a tale\n/continue\n")
	if out, err := chat.Output(); err != nil || !bytes.Contains(out, []byte(tooLong+goesOn)) ||
		!bytes.Contains(out, []byte("n a time.")) {
		t.Errorf("terminal: %v\n%s", err, out)
	}
}

// TestAnswer_comesAfterALongThought has a model think for a while, with nothing configured but its name: the answer
// alone is shown, at every door, and no limit was sent.
func TestAnswer_comesAfterALongThought(t *testing.T) {
	t.Parallel()
	w := e2etest.NewTown(t, "")
	m := newMoody(t)
	w.UseModel(m.URL)
	w.Env = append(w.Env, "EVERTHREAD_SUMMARY_LLM_PROVIDER=demo")
	g := w.Start()
	w.AddOwner(g)
	key, _ := w.APIKey("", "chat")
	r := &reader{f: func(w http.ResponseWriter, q *http.Request) {
		for range 40 {
			events(piece(`{"reasoning_content":"`+strings.Repeat("Hmm, let me see. ", 50)+`"}`, ""))(w, q)
			_ = http.NewResponseController(w).Flush()
			time.Sleep(25 * time.Millisecond) // as models think
		}
		events(piece(`{"content":"Forty-two."}`, "stop"), "[DONE]")(w, q)
	}}
	m.trouble(0, r.serve)
	w.Telegram.Say(e2etest.Ada, "why?")
	if got := w.Sent(e2etest.Ada, 2)[1].Text; got != "Forty-two." {
		t.Errorf("Telegram: %q\n%s", got, g.Log.Tail())
	}
	for _, stream := range []bool{false, true} {
		_, out := g.Request(http.MethodPost, "/v1/chat/completions", key, map[string]any{"model": "everthread",
			"stream": stream, "messages": []any{map[string]any{"role": "user", "content": "why?"}}})
		if !strings.Contains(out, `"Forty-two."`) || strings.Contains(out, "Hmm") {
			t.Errorf("/v1, stream %t: %s", stream, out)
		}
	}
	v := g.NewGuest(e2etest.NewLink(w, g))
	v.Post("/messages", url.Values{"text": {"why?"}, "nonce": {e2etest.NonceFor("why?")}})
	w.Ledger().Until(`SELECT COUNT(*) FROM messages WHERE body = 'Forty-two.'`, 4, g)
	if _, body := v.Get("/"); strings.Count(body, "Forty-two.") < 4 || strings.Contains(body, "Hmm") {
		t.Errorf("the page: %s", body)
	}
	if r.mu.Lock(); bytes.Contains(r.body, []byte("max_")) {
		t.Errorf("the model was given a limit: %s", r.body)
	}
	r.mu.Unlock()
}

// whatsApp waits for the n-th message to a person on WhatsApp.
func whatsApp(t *testing.T, g *e2etest.Gateway, wa *whatsapptest.Server, n int) whatsapptest.Message {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); len(wa.Sent()) < n; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("WhatsApp has %+v\n%s", wa.Sent(), g.Log)
		}
	}
	return wa.Sent()[n-1]
}

// page has an answer continued on the page.
func page(t *testing.T, w *e2etest.Town, g *e2etest.Gateway) {
	t.Helper()
	v := g.NewGuest(e2etest.NewLink(w, g))
	until := func(want string) string {
		t.Helper()
		for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
			_, body := v.Get("/")
			if strings.Contains(body, want) {
				return body
			}
			if time.Now().After(deadline) {
				t.Fatalf("the page does not show %q\n%s\n%s", want, body, g.Log)
			}
		}
	}
	v.Post("/messages", url.Values{"text": {"a tale"}, "nonce": {e2etest.NonceFor("a tale")}})
	const button = `<input type="hidden" name="text" value="/continue">`
	if body := until(`<p class="unfinished">` + tooLong + `</p>`); !strings.Contains(body, button) ||
		!strings.Contains(body, `<p class="model">Model: emulated</p>`) {
		t.Errorf("the page has no button or no model:\n%s", body)
	}
	v.Post("/messages", url.Values{"text": {"/continue"}, "nonce": {e2etest.NonceFor("go on")}})
	if body := until("n a time."); strings.Contains(body, button) {
		t.Error("the button stays")
	}
}
