//go:build e2e

package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/everthread/everthread/adapters/telegram/telegramtest"
)

const outage = 30 * time.Second

// cutTown is a town whose database can be taken away.
func cutTown(t *testing.T) (*town, *cord) {
	t.Helper()
	database := newSchema(t)
	u, err := url.Parse(database)
	must(t, err)
	c := newCord(t, u.Host)
	w := newTown(t, database)
	w.env = append(w.env, "EVERTHREAD_DATABASE_URL="+c.through(t, database))
	return w, c
}

func TestADatabaseThatGoesAwayForAWhileLosesAndRepeatsNothing(t *testing.T) {
	t.Parallel()
	for _, lease := range []string{"60s", "5s"} { // longer and shorter than the outage
		t.Run("lease "+lease, func(t *testing.T) {
			t.Parallel()
			w, c := cutTown(t)
			w.telegram.Fail("sendMessage", 10_000, telegramtest.Failure{Delay: 300 * time.Millisecond}) // so that the cut falls into it
			w.env = append(w.env, "EVERTHREAD_TURN_LEASE="+lease)
			w.useModel(startModel(t, 3*time.Millisecond))
			g := w.start()
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
						w.telegram.Say(int64(1000+n), text)
						said[n] = append(said[n], text)
						time.Sleep(200 * time.Millisecond) // as people write
					}
				})
			}
			time.Sleep(3 * time.Second) // in the middle of their talk
			c.pull()
			w.unready(g)
			time.Sleep(outage) // how long it lasts
			c.plug()
			people.Wait()
			l := w.ledger()
			l.quiet(100*time.Second, g.log) // a claim whose answer was lost has to lapse
			w.settle(l, g)
			for n := range said {
				got := w.check(l, int64(1000+n), said[n])
				if got.marked > 1 || got.doubled+got.missing > 0 { // such a claim may be a mark
					t.Errorf("chat %d: %+v\n%s", 1000+n, got, g.log)
				}
			}
			if status, body := g.get("/readyz"); status != http.StatusOK {
				t.Errorf("readyz is %d: %s", status, body)
			}
		})
	}
}

// unready waits until the process says that its database is away.
func (w *town) unready(g *gateway) {
	w.t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		status, body := g.get("/readyz")
		if status == http.StatusServiceUnavailable && strings.Contains(body, "database does not answer") {
			break
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("readyz is %d: %s\n%s", status, body, g.log)
		}
	}
	if status, body := g.get("/healthz"); status != http.StatusOK {
		w.t.Errorf("healthz is %d: %s", status, body)
	}
}

func TestADatabaseThatIsDownAtStartIsWaitedFor(t *testing.T) {
	t.Parallel()
	w, c := cutTown(t)
	c.pull()
	g := w.launch()
	w.unready(g)
	w.telegram.Say(ada, "are you there?")
	c.plug()
	if got := w.sent(ada, 1)[0].Text; got != "echo: are you there?" {
		t.Errorf("got %q", got)
	}
	if status, body := g.get("/readyz"); status != http.StatusOK {
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
	_, _ = io.Copy(io.Discard, r.Body) // before that a server does not notice who leaves
	<-r.Context().Done()
}

// cuts ends the connection after the first words.
func cuts(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprint(w, `data: {"id":"x","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":"half an ans"}}]}`+"\n\n")
	w.(http.Flusher).Flush()
	panic(http.ErrAbortHandler)
}

var failure500 = telegramtest.Failure{Code: 500}

const refusal = `{"error":{"message":"no","type":"invalid_request_error"}}`

func TestAModelInTroubleIsWaitedForAndThePersonIsAnsweredOnce(t *testing.T) {
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
			w := newTown(t, "")
			m := newMoody(t)
			w.useModel(m.URL)
			w.env = append(w.env, "EVERTHREAD_LLM_TIMEOUT=2s")
			g := w.start()
			m.trouble(2, f)
			w.telegram.Say(ada, "hello")
			l := w.ledger()
			w.sent(ada, 1)
			w.settle(l, g)
			w.check(l, ada, []string{"hello"})
			if got := texts(w.telegram.Sent(ada)); len(got) != 1 || got[0] != "echo: hello" {
				t.Errorf("got %q", got)
			}
			if n := m.requests(); n != 3 {
				t.Errorf("the model was asked %d times, want 3", n)
			}
		})
	}
}

func TestAModelThatStaysAwayIsGivenUpWithAnHonestMessage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		trouble http.HandlerFunc
		most    int // times that it may be asked
	}{
		"500": {answers(500, refusal), 8}, "429 for an hour": {answers(429, refusal, "Retry-After", "3600"), 1}, "hangs": {hangs, 8},
		"401": {answers(401, refusal), 1}, "404": {answers(404, refusal), 1}, "400": {answers(400, refusal), 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newTown(t, "")
			m := newMoody(t)
			w.useModel(m.URL)
			w.env = append(w.env, "EVERTHREAD_LLM_TIMEOUT=1s", "EVERTHREAD_TURN_GIVE_UP_AFTER=4s")
			g := w.start()
			m.trouble(0, c.trouble)
			w.telegram.Say(ada, "first")
			got := w.sent(ada, 1)[0].Text
			if !strings.Contains(got, "/retry") || strings.Contains(got, "40") || strings.Contains(got, "50") {
				t.Errorf("got %q", got)
			}
			if n := m.requests(); n > c.most {
				t.Errorf("the model was asked %d times, want at most %d", n, c.most)
			}
			m.trouble(0, nil)
			w.telegram.Say(ada, "/retry")
			w.answered(t, g, "echo: first")

			m.trouble(0, c.trouble)
			w.telegram.Say(ada, "second")
			n := len(w.telegram.Sent(ada))
			w.sent(ada, n+1)
			m.trouble(0, nil)
			w.telegram.Say(ada, "third")
			w.answered(t, g, "echo: third")
			l := w.ledger()
			if got := l.transcript(fmt.Sprint(ada)); strings.Join(got, "|") != "first|second|third" {
				t.Errorf("the transcript is %q", got)
			}
			w.arrived(l, fmt.Sprint(ada), texts(w.telegram.Sent(ada)))
		})
	}
}

// answered waits until the last message that Ada has got is text.
func (w *town) answered(t *testing.T, g *gateway, text string) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		got := texts(w.telegram.Sent(ada))
		if len(got) > 0 && got[len(got)-1] == text {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("got %q, want %q\n%s", got, text, g.log)
		}
	}
}

func TestTelegramInTroubleLosesNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		method  string
		n       int
		failure telegramtest.Failure
		want    []string
	}{
		"429":                         {"sendMessage", 2, telegramtest.Failure{Code: 429, RetryAfter: 1}, []string{"echo: one", "echo: two"}},
		"500":                         {"sendMessage", 1, telegramtest.Failure{Code: 500}, []string{"echo: one" + repeatMark, "echo: two"}},
		"a lost answer":               {"sendMessage", 1, telegramtest.Failure{Drop: true}, []string{"echo: one", "echo: one" + repeatMark, "echo: two"}},
		"400, entities":               {"sendMessage", 1, telegramtest.Failure{Code: 400, Description: "Bad Request: chat not found"}, []string{"echo: two"}},
		"another poller":              {"getUpdates", 2, telegramtest.Failure{Code: 409, Description: "Conflict: terminated by other getUpdates request"}, []string{"echo: one", "echo: two"}},
		"polls that fail":             {"getUpdates", 3, telegramtest.Failure{Code: 502}, []string{"echo: one", "echo: two"}},
		"polls whose answer is lost":  {"getUpdates", 3, telegramtest.Failure{Drop: true}, []string{"echo: one", "echo: two"}},
		"a poll that is held back":    {"getUpdates", 1, telegramtest.Failure{Code: 429, RetryAfter: 2}, []string{"echo: one", "echo: two"}},
		"a start that is not greeted": {"getMe", 2, telegramtest.Failure{Code: 500}, []string{"echo: one", "echo: two"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newTown(t, "")
			w.telegram.Fail(c.method, c.n, c.failure)
			g := w.start()
			w.telegram.Say(ada, "one")
			w.sentOrFailed(t, g)
			w.telegram.Say(ada, "two")
			w.answered(t, g, "echo: two")
			w.settle(w.ledger(), g)
			if got := texts(w.telegram.Sent(ada)); strings.Join(got, "|") != strings.Join(c.want, "|") {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// sentOrFailed waits until the first reply is out of the way.
func (w *town) sentOrFailed(t *testing.T, g *gateway) {
	t.Helper()
	l := w.ledger()
	for deadline := time.Now().Add(20 * time.Second); l.count(`SELECT COUNT(*) FROM deliveries`) == 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("nothing was to be sent\n%s", g.log)
		}
	}
	w.settle(l, g)
}

func TestWhoBlockedTheBotGetsEverythingWhenTheyAreBack(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := newTown(t, database(t))
		w.telegram.Fail("sendMessage", 1, telegramtest.Failure{Code: 403})
		g := w.start()
		w.telegram.Say(ada, "one")
		l := w.ledger()
		must(t, w.telegram.Wait(t.Context(), func() bool { return w.telegram.Calls("sendMessage") > 0 }))
		w.telegram.Say(7, "of somebody else")
		w.sent(7, 1) // who does not wait
		w.settle(l, g)
		if got := l.lines(`SELECT state FROM deliveries WHERE external = $1`, fmt.Sprint(ada)); !slices.Equal(got, []string{"parked"}) {
			t.Errorf("deliveries are %v", got)
		}
		w.telegram.Say(ada, "back again")
		w.settle(l, g)
		w.sent(ada, 2) // the answer to what they wrote goes first
		if got := texts(w.telegram.Sent(ada)); !slices.Equal(got, []string{"echo: back again", "echo: one"}) {
			t.Errorf("got %q", got)
		}
		if got := l.transcript(fmt.Sprint(ada)); !slices.Equal(got, []string{"one", "back again"}) {
			t.Errorf("the transcript is %q", got)
		}
		w.check(l, 7, []string{"of somebody else"})
	})
}
