//go:build e2e

package road

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/everthread/everthread/adapters/telegram/telegramtest"
	"github.com/everthread/everthread/e2e/e2etest"
)

const outage = 30 * time.Second

// cutTown returns a gateway whose database can be disconnected.
func cutTown(t *testing.T) (*e2etest.Town, *cord) {
	t.Helper()
	database := e2etest.NewStore(t)
	u, err := url.Parse(database)
	e2etest.Must(t, err)
	c := newCord(t, u.Host)
	w := e2etest.NewTown(t, database)
	w.Env = append(w.Env, "EVERTHREAD_DATABASE_URL="+c.through(t, database))
	return w, c
}

func TestDatabase_outageLosesAndRepeatsNothing(t *testing.T) {
	t.Parallel()
	for _, lease := range []string{"60s", "5s"} { // longer and shorter than the outage
		t.Run("lease "+lease, func(t *testing.T) {
			t.Parallel()
			w, c := cutTown(t)
			w.Telegram.Fail("sendMessage", 10_000,
				telegramtest.Failure{Delay: 300 * time.Millisecond}) // so that the cut falls into it
			w.Env = append(w.Env, "EVERTHREAD_TURN_LEASE="+lease)
			w.UseModel(e2etest.StartModel(t, 3*time.Millisecond))
			g := w.Start()
			end := time.Now().Add(3*time.Second + outage + 3*time.Second)
			said := make([][]string, 3)
			var people sync.WaitGroup
			for n := range said {
				people.Go(func() {
					for i := 0; time.Now().Before(end); i++ {
						text := fmt.Sprintf("message %d of %d", i, n)
						if i%7 == 6 {
							text = "say 900 words"
						}
						w.Telegram.Say(int64(1000+n), text)
						said[n] = append(said[n], text)
						time.Sleep(200 * time.Millisecond) // as people write
					}
				})
			}
			time.Sleep(3 * time.Second) // during the conversation
			c.pull()
			w.Unready(g)
			time.Sleep(outage) // the length of the outage
			c.plug()
			people.Wait()
			l := w.Ledger()
			l.Quiet(100*time.Second, g.Log) // a claim whose answer was lost must expire
			w.Settle(l, g)
			for n := range said {
				got := w.Check(l, int64(1000+n), said[n])
				if got.Marked > 1 || got.Doubled+got.Missing > 0 { // such a claim may cause a mark
					t.Errorf("chat %d: %+v\n%s", 1000+n, got, g.Log)
				}
			}
			if status, body := g.Get("/readyz"); status != http.StatusOK {
				t.Errorf("readyz is %d: %s", status, body)
			}
		})
	}
}

func TestDatabase_downAtStartIsWaitedFor(t *testing.T) {
	t.Parallel()
	w, c := cutTown(t)
	c.pull()
	g := w.Launch()
	w.Unready(g)
	w.Telegram.Say(e2etest.Ada, "are you there?")
	c.plug()
	if got := w.Sent(e2etest.Ada, 1)[0].Text; got != "echo: are you there?" {
		t.Errorf("got %q", got)
	}
	if status, body := g.Get("/readyz"); status != http.StatusOK {
		t.Errorf("readyz is %d: %s", status, body)
	}
}

// answers with a status and a body.
func answers(status int, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}
}

func hangs(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // before that a server does not notice a disconnect
	<-r.Context().Done()
}

// cuts ends the connection before the first word.
func cuts(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprint(w,
		`data: {"id":"x","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}`+"\n\n")
	w.(http.Flusher).Flush()
	panic(http.ErrAbortHandler)
}

const noSuchModel = `{"error":{"message":"the model does not exist","type":"invalid_request_error"}}`

const refusal = `{"error":{"message":"no","type":"invalid_request_error"}}`

func TestModel_troubleIsWaitedFor(t *testing.T) {
	t.Parallel()
	empty := `{"id":"x","object":"chat.completion","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":""}}]}`
	for name, f := range map[string]http.HandlerFunc{
		"500": answers(500, refusal), "503, no JSON": answers(503, "<html>busy</html>"), "429": answers(429, refusal),
		"429 with Retry-After": answers(429, refusal, "Retry-After", "2"), "hangs": hangs, "cut off": cuts,
		"not JSON": answers(200, "<html>welcome</html>", "Content-Type", "text/html"), "empty": answers(200, ""),
		"empty answer": answers(200, empty, "Content-Type", "application/json"),
		"empty stream": answers(200, "data: [DONE]\n\n", "Content-Type", "text/event-stream"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := e2etest.NewTown(t, "")
			m := newMoody(t)
			w.UseModel(m.URL)
			w.Env = append(w.Env, "EVERTHREAD_LLM_TIMEOUT=2s")
			g := w.Start()
			m.trouble(2, f)
			w.Telegram.Say(e2etest.Ada, "hello")
			l := w.Ledger()
			w.Sent(e2etest.Ada, 1)
			w.Settle(l, g)
			w.Check(l, e2etest.Ada, []string{"hello"})
			if got := e2etest.Texts(w.Telegram.Sent(e2etest.Ada)); len(got) != 1 || got[0] != "echo: hello" {
				t.Errorf("got %q", got)
			}
			if n := m.requests(); n != 3 {
				t.Errorf("the model was asked %d times, want 3", n)
			}
		})
	}
}

func TestModel_awayIsGivenUpHonestly(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		trouble http.HandlerFunc
		most    int // allowed number of requests
	}{
		"500": {answers(500, refusal), 16}, "429 for an hour": {answers(429, refusal, "Retry-After", "3600"), 1},
		"hangs": {hangs, 8}, "401": {answers(401, refusal), 1}, "404": {answers(404, noSuchModel), 1},
		"400": {answers(400, refusal), 6}, // each a smaller one
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := e2etest.NewTown(t, "")
			m := newMoody(t)
			w.UseModel(m.URL)
			w.Env = append(w.Env, "EVERTHREAD_LLM_TIMEOUT=1s", "EVERTHREAD_TURN_GIVE_UP_AFTER=4s")
			g := w.Start()
			m.trouble(0, c.trouble)
			w.Telegram.Say(e2etest.Ada, "first")
			got := w.Sent(e2etest.Ada, 1)[0].Text
			if !strings.Contains(got, "/retry") || strings.Contains(got, "40") || strings.Contains(got, "50") {
				t.Errorf("got %q", got)
			}
			if n := m.requests(); n > c.most {
				t.Errorf("the model was asked %d times, want at most %d", n, c.most)
			}
			m.trouble(0, nil)
			w.Telegram.Say(e2etest.Ada, "/retry")
			w.Answered(t, g, "echo: first")

			m.trouble(0, c.trouble)
			w.Telegram.Say(e2etest.Ada, "second")
			n := len(w.Telegram.Sent(e2etest.Ada))
			w.Sent(e2etest.Ada, n+1)
			m.trouble(0, nil)
			w.Telegram.Say(e2etest.Ada, "third")
			w.Answered(t, g, "echo: third")
			l := w.Ledger()
			if got := l.Transcript(fmt.Sprint(e2etest.Ada)); strings.Join(got, "|") != "first|second|third" {
				t.Errorf("the transcript is %q", got)
			}
			w.Arrived(l, fmt.Sprint(e2etest.Ada), e2etest.Texts(w.Telegram.Sent(e2etest.Ada)))
		})
	}
}

func TestTelegram_troubleLosesNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		method  string
		n       int
		failure telegramtest.Failure
		want    []string
	}{
		"429": {"sendMessage", 2, telegramtest.Failure{Code: 429, RetryAfter: 1},
			[]string{"echo: one", "echo: two"}},
		"500": {"sendMessage", 1, telegramtest.Failure{Code: 500},
			[]string{"echo: one" + e2etest.RepeatMark, "echo: two"}},
		"a lost answer": {"sendMessage", 1, telegramtest.Failure{Drop: true},
			[]string{"echo: one", "echo: one" + e2etest.RepeatMark, "echo: two"}},
		"400, text": {"sendMessage", 1,
			telegramtest.Failure{Code: 400, Description: "Bad Request: message is too long"}, []string{"echo: two"}},
		"400, chat": {"sendMessage", 1, telegramtest.Failure{Code: 400, Description: "Bad Request: chat not found"},
			[]string{"echo: two", "echo: one"}},
		"another poller": {"getUpdates", 2,
			telegramtest.Failure{Code: 409, Description: "Conflict: terminated by other getUpdates request"},
			[]string{"echo: one", "echo: two"}},
		"polls that fail": {"getUpdates", 3, telegramtest.Failure{Code: 502}, []string{"echo: one", "echo: two"}},
		"polls whose answer is lost": {"getUpdates", 3, telegramtest.Failure{Drop: true},
			[]string{"echo: one", "echo: two"}},
		"a poll that is held back": {"getUpdates", 1, telegramtest.Failure{Code: 429, RetryAfter: 2},
			[]string{"echo: one", "echo: two"}},
		"a start that is not greeted": {"getMe", 2, telegramtest.Failure{Code: 500}, []string{"echo: one", "echo: two"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := e2etest.NewTown(t, "")
			w.Telegram.Fail(c.method, c.n, c.failure)
			g := w.Start()
			w.Telegram.Say(e2etest.Ada, "one")
			w.SentOrFailed(t, g)
			w.Telegram.Say(e2etest.Ada, "two")
			w.Answered(t, g, c.want[len(c.want)-1])
			w.Settle(w.Ledger(), g)
			if got := e2etest.Texts(w.Telegram.Sent(e2etest.Ada)); strings.Join(got, "|") != strings.Join(c.want, "|") {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestTelegram_blockedGetsAllWhenBack(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewTown(t, database(t))
		w.Telegram.Fail("sendMessage", 1, telegramtest.Failure{Code: 403})
		g := w.Start()
		w.Telegram.Say(e2etest.Ada, "one")
		l := w.Ledger()
		e2etest.Must(t, w.Telegram.Wait(t.Context(), func() bool { return w.Telegram.Calls("sendMessage") > 0 }))
		w.Telegram.Say(7, "of somebody else")
		w.Sent(7, 1) // another person, who does not wait
		w.Settle(l, g)
		if got := l.Lines(`SELECT state FROM deliveries WHERE external = $1`, fmt.Sprint(e2etest.Ada)); !slices.Equal(got,
			[]string{"parked"}) {
			t.Errorf("deliveries are %v", got)
		}
		w.Telegram.Say(e2etest.Ada, "back again")
		w.Settle(l, g)
		w.Sent(e2etest.Ada, 2) // the answer to their message goes first
		if got := e2etest.Texts(w.Telegram.Sent(e2etest.Ada)); !slices.Equal(got, []string{"echo: back again", "echo: one"}) {
			t.Errorf("got %q", got)
		}
		if got := l.Transcript(fmt.Sprint(e2etest.Ada)); !slices.Equal(got, []string{"one", "back again"}) {
			t.Errorf("the transcript is %q", got)
		}
		w.Check(l, 7, []string{"of somebody else"})
	})
}

// refuses refuses every request that contains a word, and passes the others on.
func refuses(t *testing.T, word string) http.HandlerFunc {
	t.Helper()
	target, err := url.Parse(e2etest.Common.URL(t))
	e2etest.Must(t, err)
	model := httputil.NewSingleHostReverseProxy(target)
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if bytes.Contains(body, []byte(word)) {
			answers(400, refusal)(w, r)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		model.ServeHTTP(w, r)
	}
}

// The person is told what to do about words that the model's server always refuses, and the
// advice works: once they are edited or forgotten, the conversation continues.
func TestModel_refusedWordsCanBeTakenBack(t *testing.T) {
	t.Parallel()
	for name, takeBack := range map[string]func(w *e2etest.Town, message int64){
		"edited": func(w *e2etest.Town, message int64) { w.Telegram.Edit(e2etest.Ada, message, "something else") },
		"forgotten": func(w *e2etest.Town, message int64) {
			w.Telegram.Write(e2etest.Ada, map[string]any{"text": "/forget", "reply_to_message": map[string]any{
				"message_id": message, "date": time.Now().Unix(), "chat": map[string]any{"id": e2etest.Ada, "type": "private"},
				"from": map[string]any{"id": e2etest.Ada, "is_bot": false, "first_name": "Ada"}, "text": "an abracadabra"}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := e2etest.NewTown(t, "")
			m := newMoody(t)
			w.UseModel(m.URL)
			g := w.Start()
			m.trouble(0, refuses(t, "abracadabra"))
			message := w.Telegram.Say(e2etest.Ada, "an abracadabra")
			if got := w.Sent(e2etest.Ada, 1)[0].Text; !strings.Contains(got, "edit it") || !strings.Contains(got, "/forget") {
				t.Errorf("got %q", got)
			}
			takeBack(w, message)
			w.Sent(e2etest.Ada, 2)
			w.Settle(w.Ledger(), g)
			w.Telegram.Say(e2etest.Ada, "and now?")
			w.Answered(t, g, "echo: and now?")
		})
	}
}
