package intake_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/everthread/everthread/core/intake"
)

// serve starts a server that accepts bodies of up to most bytes and echoes them.
func serve(t *testing.T, b *intake.Budget, most int64) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := b.Take(w, r, most)
		if err != nil {
			intake.Refuse(w, err)
			return
		}
		defer body.Release()
		var streamed bytes.Buffer
		if _, err := body.WriteTo(&streamed); err != nil || !bytes.Equal(streamed.Bytes(), body.Bytes()) {
			t.Errorf("WriteTo writes something other than Bytes: %v", err)
		}
		_, _ = w.Write(streamed.Bytes())
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// post sends a body and returns the status and the response.
func post(t *testing.T, url string, body io.Reader) (int, string) {
	t.Helper()
	resp, err := http.Post(url, "text/plain", body)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Error(err)
	}
	return resp.StatusCode, string(answer)
}

// stall opens a connection that announces a body and sends only part of it. The channel receives
// the status of the response, or is closed without one if the connection ends.
func stall(t *testing.T, url string, announced, sent int) <-chan int {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_, err = fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", announced,
		strings.Repeat("x", sent))
	if err != nil {
		t.Fatal(err)
	}
	status := make(chan int, 1)
	go func() {
		defer close(status)
		if resp, err := http.ReadResponse(bufio.NewReader(c), nil); err == nil {
			status <- resp.StatusCode
			_ = resp.Body.Close()
		}
	}()
	return status
}

func TestBodiesComeThroughAsTheyAre(t *testing.T) {
	t.Parallel()
	url := serve(t, intake.New(1<<20, time.Minute, time.Now), 200_000)
	for _, n := range []int{0, 1, 4095, 4096, 4097, 36_863, 36_864, 36_865, 199_999, 200_000} {
		body := strings.Repeat("0123456789", n/10+1)[:n]
		for how, sent := range map[string]io.Reader{"announced": strings.NewReader(body),
			"in chunks": io.MultiReader(strings.NewReader(body))} {
			if status, got := post(t, url, sent); status != 200 || got != body {
				t.Errorf("%d bytes, %s: status %d, %d bytes", n, how, status, len(got))
			}
		}
	}
	for how, sent := range map[string]io.Reader{"announced": strings.NewReader(strings.Repeat("x", 200_001)),
		"in chunks": io.MultiReader(strings.NewReader(strings.Repeat("x", 200_001)))} {
		if status, _ := post(t, url, sent); status != http.StatusRequestEntityTooLarge {
			t.Errorf("too large, %s: %d", how, status)
		}
	}
}

func TestWhoIsLateIsCutOff(t *testing.T) {
	t.Parallel()
	url := serve(t, intake.New(1<<20, 200*time.Millisecond, time.Now), 1<<20)
	begin := time.Now()
	if got := <-stall(t, url, 1000, 10); got != http.StatusRequestTimeout || time.Since(begin) > 5*time.Second {
		t.Errorf("status %d after %s", got, time.Since(begin))
	}
	c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	in := bufio.NewReader(c)
	for range 2 { // a body's deadline does not apply to the next one on the connection
		_, _ = io.WriteString(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi")
		resp, err := http.ReadResponse(in, nil)
		if err != nil || resp.StatusCode != 200 {
			t.Fatalf("%v, %v", resp, err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		time.Sleep(300 * time.Millisecond) // the deadline is the system's, so there is no event to wait for
	}
	if _, err := fmt.Fprint(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 20\r\n\r\nhi"); err != nil {
		t.Fatal(err)
	}
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if resp, err := http.ReadResponse(in, nil); err != nil || resp.StatusCode != http.StatusBadRequest {
		t.Errorf("cut off: %v, %v", resp, err)
	}
}

// TestSmallBodiesComeThroughBesideStalledOnes checks that stalled bodies, which fill the budget,
// are dropped for the next body.
func TestSmallBodiesComeThroughBesideStalledOnes(t *testing.T) {
	t.Parallel()
	const budget = 1 << 20
	url := serve(t, intake.New(budget, time.Minute, time.Now), 400_000)
	answers := make(chan int, 10)
	for range 10 {
		stalled := stall(t, url, 400_000, 390_000)
		go func() { answers <- <-stalled }()
	}
	left := 10
	for waited := time.After(30 * time.Second); left > budget/390_000; left-- {
		select {
		case status := <-answers:
			if status != http.StatusServiceUnavailable && status != 0 {
				t.Errorf("a stalled body was answered with %d", status)
			}
		case <-waited:
			t.Fatalf("%d of 10 stalled bodies remain", left)
		}
	}
	for n := range 200 {
		_ = stall(t, url, 400_000, 4096*(n%4)) // as many as fit
		if status, got := post(t, url, strings.NewReader("hello")); status != 200 || got != "hello" {
			t.Fatalf("with %d stalled bodies: %d %s", n, status, got)
		}
	}
	var all sync.WaitGroup
	for range 20 { // clients that send all they announce
		all.Go(func() {
			for range 20 {
				if status, _ := post(t, url, strings.NewReader(strings.Repeat("x", 10_000))); status != 200 {
					t.Errorf("an honest body: %d", status)
				}
			}
		})
	}
	all.Wait()
}

func TestTheBudgetIsGivenBack(t *testing.T) {
	t.Parallel()
	url := serve(t, intake.New(300_000, time.Minute, time.Now), 250_000)
	for n := range 50 { // each takes most of the budget
		if status, _ := post(t, url, strings.NewReader(strings.Repeat("x", 240_000))); status != 200 {
			t.Fatalf("body %d: %d", n, status)
		}
		if status, _ := post(t, url, strings.NewReader(strings.Repeat("x",
			260_000))); status != http.StatusRequestEntityTooLarge {
			t.Fatalf("body %d, too large: %d", n, status)
		}
	}
}
