//go:build e2e

package e2e

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
	"time"

	"github.com/everthread/everthread/adapters/whatsapp/whatsapptest"
)

// peak is the most memory that the process ever had, in bytes.
func (g *gateway) peak() int64 {
	g.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", g.cmd.Process.Pid))
	must(g.t, err)
	found := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(text)
	if found == nil {
		g.t.Skip("this system does not tell the peak of a process' memory")
	}
	kilobytes, err := strconv.ParseInt(string(found[1]), 10, 64)
	must(g.t, err)
	return kilobytes << 10
}

// stall opens connections that each announce a body, send nearly all of it, and wait.
// What they are answered is counted when they have ended.
func (g *gateway) stall(t *testing.T, connections int, path, headers string, size int) (answers func() map[int]int) {
	t.Helper()
	body := strings.Repeat("x", size-1)
	var sending, reading sync.WaitGroup
	var mu sync.Mutex
	status := map[int]int{}
	for range connections {
		c, err := net.Dial("tcp", strings.TrimPrefix(g.URL, "http://"))
		must(t, err)
		t.Cleanup(func() { _ = c.Close() })
		sending.Go(func() { // who is refused meanwhile cannot send the rest
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

// TestAttackStalledBodiesHoldLittleMemory: hundreds of connections send nearly all of a
// large body that nobody can authenticate, and wait. The gateway's memory is bounded,
// what the service sends is taken beside them, and nobody stays for long.
func TestAttackStalledBodiesHoldLittleMemory(t *testing.T) {
	w := newTown(t, "")
	s := w.onWhatsApp()
	g := w.start()
	s.Webhook(g.URL + "/webhooks/whatsapp")
	phone := whatsapptest.Person{Phone: "4915112345678", UserID: "DE.1", Name: "Erin"}
	s.Say(phone, "before")
	answers := func(n int) {
		t.Helper()
		for deadline := time.Now().Add(20 * time.Second); len(s.Sent()) < n; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%d of %d messages were answered\n%s", len(s.Sent()), n, g.log)
			}
		}
	}
	answers(1)
	before := g.peak()
	const connections, most = 150, 96 << 20
	const form = "Content-Type: application/x-www-form-urlencoded\r\n"
	for name, attack := range map[string][]struct {
		path, headers string
		size          int
	}{
		"webhook": {{"/webhooks/whatsapp", "X-Hub-Signature-256: sha256=" + strings.Repeat("0", 64) + "\r\n", 4 << 20}},
		"pages":   {{"/signin", form, 4 << 10}, {"/theme", form, 4 << 10}},
	} {
		began, had := time.Now(), len(s.Sent())
		var waiting []func() map[int]int
		for _, one := range attack {
			waiting = append(waiting, g.stall(t, connections, one.path, one.headers, one.size))
		}
		s.Say(phone, "beside "+name)
		answers(had + 1)
		for _, stalled := range waiting {
			if answered := stalled(); answered[http.StatusServiceUnavailable]+answered[http.StatusRequestTimeout]+answered[0] != connections {
				t.Errorf("%s: they were answered %v", name, answered)
			}
		}
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("%s: they stayed for %s", name, took)
		}
		grown := g.peak() - before
		t.Logf("%s: %d connections; the memory grew by %d MiB", name, connections, grown>>20)
		if grown > most {
			t.Errorf("%s: the memory grew by %d MiB", name, grown>>20)
		}
	}
}
