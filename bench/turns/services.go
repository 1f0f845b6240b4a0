//go:build linux

package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"sync"
	"time"

	"github.com/everthread/everthread/adapters/telegram/telegramtest"
	"github.com/everthread/everthread/core/chat/summary"
)

// services are what the program talks to: a fake Bot API, and a model that does not wait. Each message has a mark, which
// the model repeats in its answer; by it they know the turn that a request belongs to.
type services struct {
	http   *httptest.Server
	bot    *telegramtest.Server // behind the HTTP server
	marks  *regexp.Regexp
	ids    *regexp.Regexp // of the messages of a day, in the request for its summary
	polled chan struct{}  // closed by the first request for updates
	poll   sync.Once

	mu    sync.Mutex
	last  int64            // number of a mark; they grow, also from one run to the next
	turns map[string]*turn // not answered
}

// turn is a message until its answer. After done is closed, nothing changes.
type turn struct {
	offered, answered time.Time
	held              time.Duration // by the model
	done              chan struct{}
}

// serve starts the services on free ports. The caller closes them.
func serve() (*services, error) {
	bot, err := telegramtest.Listen("127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &services{bot: bot, marks: regexp.MustCompile(`TURN\d{14}`), ids: regexp.MustCompile(`\\"id\\":(\d+)`),
		polled: make(chan struct{}), last: time.Now().UnixMilli() * 10, turns: map[string]*turn{}}
	mux := http.NewServeMux()
	mux.HandleFunc("/", s.telegram)
	mux.HandleFunc("/v1/chat/completions", s.model)
	mux.HandleFunc("/floor", func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
	s.http = httptest.NewServer(mux)
	return s, nil
}

func (s *services) close() {
	s.http.CloseClientConnections()
	s.bot.Close()
	s.http.Close()
}

// environment are the settings with which the program talks to the services and has its data in dir.
func (s *services) environment(dir string) []string {
	return []string{
		"EVERTHREAD_CHANNELS_TELEGRAM_API_URL=" + s.http.URL, "EVERTHREAD_CHANNELS_TELEGRAM_TOKEN=" + telegramtest.Token,
		"EVERTHREAD_LLM_PROVIDER=openai", "EVERTHREAD_LLM_BASE_URL=" + s.http.URL + "/v1", "EVERTHREAD_LLM_MODEL=bench",
		"EVERTHREAD_LLM_API_KEY=none", "EVERTHREAD_DATA_DIR=" + dir, "EVERTHREAD_HTTP_LISTEN=127.0.0.1:0",
		"EVERTHREAD_SECRET_KEY=only-for-this-benchmark-0123456789", "EVERTHREAD_ACCESS_POLICY=open",
		"EVERTHREAD_LIMITS_TURNS_PER_MINUTE=0", "EVERTHREAD_LIMITS_ALL_TOKENS_PER_DAY=-1", "EVERTHREAD_LOG_LEVEL=warn",
	}
}

// offer offers a message of a person, and returns its turn.
func (s *services) offer(person int64) *turn {
	t := &turn{offered: time.Now(), done: make(chan struct{})}
	s.mu.Lock()
	s.last++
	mark := fmt.Sprintf("TURN%014d", s.last)
	s.turns[mark] = t
	s.mu.Unlock()
	s.bot.Say(person, "tomorrow the garden report should mention green tomatoes, rainfall and the budget "+mark)
	return t
}

// telegram serves the Bot API. The first message with its mark ends a turn.
func (s *services) telegram(w http.ResponseWriter, r *http.Request) {
	switch path.Base(r.URL.Path) {
	case "getUpdates":
		s.poll.Do(func() { close(s.polled) })
	case "sendMessage", "editMessageText":
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		at, mark := time.Now(), s.mark(body)
		s.mu.Lock()
		if t := s.turns[mark]; t != nil {
			t.answered = at
			close(t.done)
			delete(s.turns, mark)
		}
		s.mu.Unlock()
	}
	s.bot.ServeHTTP(w, r)
}

// mark is the newest mark in a text, or empty.
func (s *services) mark(text []byte) string {
	newest := ""
	for _, m := range s.marks.FindAll(text, -1) {
		newest = max(newest, string(m))
	}
	return newest
}

// model streams an answer with the newest mark in the prompt, or a summary. What the program asks after the answer was
// not in the way of the turn.
func (s *services) model(w http.ResponseWriter, r *http.Request) {
	begun := time.Now()
	prompt, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	mark := s.mark(prompt)
	text := "Noted. Reference " + mark + " is kept in mind for later."
	if bytes.Contains(prompt, []byte(summary.FirstLine)) {
		id := s.ids.FindSubmatch(prompt)
		if id == nil {
			http.Error(w, "a summary of no message", http.StatusBadRequest)
			return
		}
		mark, text = "", "## Summary\nThey plan.\n\n## Goals\n- A report [#"+string(id[1])+"]"
	}
	const head = `data: {"id":"1","object":"chat.completion.chunk","created":1,"model":"bench","choices":[`
	w.Header().Set("Content-Type", "text/event-stream")
	s.mu.Lock()
	if t := s.turns[mark]; t != nil {
		t.held += time.Since(begun)
	}
	s.mu.Unlock()
	fmt.Fprintf(w, head+`{"index":0,"delta":{"role":"assistant","content":%q},"finish_reason":null}]}`+"\n\n"+
		head+`{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\n"+
		head+`],"usage":{"prompt_tokens":%d,"completion_tokens":20,"total_tokens":%d}}`+"\n\ndata: [DONE]\n\n",
		text, len(prompt)/4, len(prompt)/4+20)
}
