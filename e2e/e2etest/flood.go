//go:build e2e

package e2etest

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Flood is an attack by strangers.
type Flood struct {
	Connections int // which send a header and never a whole body
	Posts       int // forged ones: a webhook, programs without a key, wrong sign-in codes
	Rate        int // posts a second
	Other       int // posts to another server, to measure the cost of sending them
}

// flooded holds the measurements of a flood.
type flooded struct {
	Peak                 int64         // of memory, in bytes
	Quiet, Beside, Loud  time.Duration // an answer's p95: alone, beside a flood of another server, in the flood
	quietWorst, loudMost time.Duration
	answers              map[int]int
}

// Stand floods a gateway while somebody with a key continues to talk.
func (f Flood) Stand(t *testing.T) flooded {
	t.Helper()
	w := NewTown(t, "")
	w.OnWhatsApp()
	g := w.Start("EVERTHREAD_LOG_LEVEL=warn", "EVERTHREAD_ACCESS_POLICY=pairing")
	key, _ := w.APIKey("", "talk")
	out := flooded{answers: map[int]int{}}
	talk := func(n int) time.Duration {
		began := time.Now()
		if status, body := g.Request(http.MethodPost, "/api/v1/chat", key,
			map[string]any{"message": fmt.Sprint("hello ", n)}); status != http.StatusOK {
			t.Errorf("an honest person is answered %d %s", status, body)
		}
		return time.Since(began)
	}
	var before []time.Duration
	for n := range 40 {
		if took := talk(n); n >= 10 { // after the warm-up
			before = append(before, took)
		}
	}
	if f.Other > 0 {
		idle := httptest.NewServer(http.NotFoundHandler())
		defer idle.Close()
		_, took := Flood{Posts: f.Other, Rate: f.Rate}.beside(t, idle.URL, talk)
		out.Beside, _ = p95(took)
	}
	g.Stall(t, f.Connections/2, "/webhooks/whatsapp", "X-Hub-Signature-256: sha256="+strings.Repeat("0", 64)+"\r\n", 2<<10)
	g.Stall(t, f.Connections/2, "/signin", "Content-Type: application/x-www-form-urlencoded\r\n", 2<<10)
	answers, during := f.beside(t, g.URL, talk)
	out.answers = answers
	out.Peak = g.Peak()
	out.Quiet, out.quietWorst = p95(before)
	out.Loud, out.loudMost = p95(during)
	t.Logf(
		"%d connections and %d posts: %d MiB at most; an answer's p95 %s before, %s beside as many posts to a server that does nothing, %s meanwhile (%d answers, most %s); they were answered %v",
		f.Connections, f.Posts, out.Peak>>20, out.Quiet.Round(time.Millisecond), out.Beside.Round(time.Millisecond),
		out.Loud.Round(time.Millisecond), len(during), out.loudMost.Round(time.Millisecond), out.answers)
	return out
}

// beside sends the posts to a server while somebody talks to the gateway, and returns the
// statuses of the posts and the times of the gateway's answers.
func (f Flood) beside(t *testing.T, url string, talk func(n int) time.Duration) (answers map[int]int,
	took []time.Duration) {
	var over atomic.Bool
	var all sync.WaitGroup
	all.Go(func() {
		defer over.Store(true)
		answers = f.post(t, url)
	})
	for n := 100; !over.Load(); n++ {
		took = append(took, talk(n))
		time.Sleep(20 * time.Millisecond) // people write slowly
	}
	all.Wait()
	return answers, took
}

// p95 returns the 95th percentile, and the maximum.
func p95(took []time.Duration) (at, most time.Duration) {
	slices.Sort(took)
	return took[len(took)*95/100], took[len(took)-1]
}

// post sends forged posts, and counts the statuses.
func (f Flood) post(t *testing.T, base string) map[int]int {
	client := &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 16},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	kinds := []struct{ path, header, value, body string }{
		{"/webhooks/whatsapp", "X-Hub-Signature-256", "sha256=" + strings.Repeat("0", 64),
			`{"object":"whatsapp_business_account","entry":"` + strings.Repeat("x", 1000) + `"}`},
		{"/api/v1/chat", "Authorization", "Bearer guessed", `{"message":"let me in"}`},
		{"/signin", "Content-Type", "application/x-www-form-urlencoded",
			url.Values{"code": {"ABCDEFGHJKLMNPQRSTUVWXYZ"}}.Encode()},
	}
	answers := map[int]int{}
	var mu sync.Mutex
	var all sync.WaitGroup
	turns := make(chan int)
	for range 16 {
		all.Go(func() {
			for n := range turns {
				k := kinds[n%len(kinds)]
				r, err := http.NewRequest(http.MethodPost, base+k.path, bytes.NewReader([]byte(k.body)))
				if err != nil {
					t.Error(err)
					return
				}
				r.Header.Set(k.header, k.value)
				status := 0
				if resp, err := client.Do(r); err == nil {
					status = resp.StatusCode
					resp.Body.Close()
				}
				mu.Lock()
				answers[status]++
				mu.Unlock()
			}
		})
	}
	began := time.Now()
	for n := range f.Posts {
		// At the measured rate.
		time.Sleep(time.Until(began.Add(time.Duration(n) * time.Second / time.Duration(f.Rate))))
		turns <- n
	}
	close(turns)
	all.Wait()
	return answers
}

// RefusedAll fails the test if anything forged was accepted.
func (f flooded) RefusedAll(t *testing.T) {
	t.Helper()
	for status, n := range f.answers {
		if status/100 == 2 || status/100 == 3 || status >= 500 && status != http.StatusServiceUnavailable {
			t.Errorf("%d forged posts were answered %d", n, status)
		}
	}
}
