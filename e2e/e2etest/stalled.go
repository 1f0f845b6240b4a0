//go:build e2e

package e2etest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// Peak returns the peak memory of the process in bytes.
func (g *Gateway) Peak() int64 {
	g.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", g.Cmd.Process.Pid))
	Must(g.t, err)
	found := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(text)
	if found == nil {
		g.t.Skip("this system does not tell the peak of a process' memory")
	}
	kilobytes, err := strconv.ParseInt(string(found[1]), 10, 64)
	Must(g.t, err)
	return kilobytes << 10
}

// Stall opens connections that each announce a body, send nearly all of it, and wait. It
// counts the answers when they have ended.
func (g *Gateway) Stall(t *testing.T, connections int, path, headers string, size int) (answers func() map[int]int) {
	t.Helper()
	body := strings.Repeat("x", size-1)
	var sending, reading sync.WaitGroup
	var mu sync.Mutex
	status := map[int]int{}
	for range connections {
		c, err := net.Dial("tcp", strings.TrimPrefix(g.URL, "http://"))
		Must(t, err)
		t.Cleanup(func() { _ = c.Close() })
		sending.Go(func() { // a connection that is refused meanwhile cannot send the rest
			_, _ = fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: x\r\n%sContent-Length: %d\r\n\r\n", path, headers, size)
			_, _ = io.WriteString(c, body)
		})
		reading.Go(func() {
			resp, err := http.ReadResponse(bufio.NewReader(c), nil)
			got := 0
			if err == nil {
				got = resp.StatusCode
				_ = resp.Body.Close()
			}
			mu.Lock()
			defer mu.Unlock()
			status[got]++
		})
	}
	sending.Wait()
	return func() map[int]int {
		reading.Wait()
		return status
	}
}
