package channel

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// echo starts a server that accepts bodies of up to 1,000 bytes and echoes them.
func echo(t *testing.T, patience time.Duration) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if body, ok := readBody(w, r, 1000, patience); ok {
			_, _ = w.Write(body)
		}
	}))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

func TestReadBody_refusesWhatIsTooLarge(t *testing.T) {
	t.Parallel()
	at := echo(t, time.Minute)
	for n, want := range map[int]int{0: 200, 1: 200, 1000: 200, 1001: 413, 100_000: 413} {
		text := strings.Repeat("x", n)
		for how, sent := range map[string]io.Reader{"announced": strings.NewReader(text),
			"in chunks": io.MultiReader(strings.NewReader(text))} {
			resp, err := http.Post("http://"+at, "text/plain", sent)
			if err != nil {
				t.Errorf("%d bytes, %s: %v", n, how, err)
				continue
			}
			got, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if resp.StatusCode != want || err != nil || want == 200 && string(got) != text {
				t.Errorf("%d bytes, %s: %d, %d bytes, %v", n, how, resp.StatusCode, len(got), err)
			}
		}
	}
}

func TestReadBody_refusesWhatIsLateOrCutOff(t *testing.T) {
	t.Parallel()
	c, err := net.Dial("tcp", echo(t, 200*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	in := bufio.NewReader(c)
	send := func(announced int, body string, want int) {
		t.Helper()
		_, err := fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", announced, body)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(in, nil)
		if err != nil || resp.StatusCode != want {
			t.Fatalf("%d of %d bytes: %v, %v", len(body), announced, resp, err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
	}
	for range 2 { // the deadline of one does not hold for the next on its connection
		send(2, "hi", 200)
		time.Sleep(300 * time.Millisecond) // the deadline is the system's, so there is no event to wait for
	}
	send(20, "hi", http.StatusRequestTimeout)
	if c, err = net.Dial("tcp", echo(t, time.Minute)); err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	in = bufio.NewReader(c)
	if _, err := io.WriteString(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 20\r\n\r\nhi"); err != nil {
		t.Fatal(err)
	}
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if resp, err := http.ReadResponse(in, nil); err != nil || resp.StatusCode != http.StatusBadRequest {
		t.Errorf("cut off: %v, %v", resp, err)
	}
}
