//go:build e2e

package e2etest

import (
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/everthread/everthread/adapters/signal/signaltest"
)

// Alice is a person on the bridged network.
const Alice = "11111111-bbbb-4000-8000-000000000002"

// OnMatrix has a town's gateway serve an account of a homeserver.
func (w *Town) OnMatrix(h *Homeserver, bridges ...string) *Account {
	w.T.Helper()
	bot := h.Register("assistant")
	w.Env = append(w.Env, "EVERTHREAD_CHANNELS_MATRIX_HOMESERVER="+h.URL, "EVERTHREAD_CHANNELS_MATRIX_USER_ID="+bot.ID,
		"EVERTHREAD_CHANNELS_MATRIX_ACCESS_TOKEN="+bot.Token, "EVERTHREAD_CHANNELS_MATRIX_AUTOJOIN=*:"+serverName,
		"EVERTHREAD_CHANNELS_MATRIX_BRIDGES="+strings.Join(bridges, ","))
	return bot
}

// Grace is a person on Signal.
const Grace = "2f9a1c00-1111-4222-8333-444455556666"

// OnSignal has a town's gateway serve the account of a daemon of signal-cli.
func (w *Town) OnSignal() *signaltest.Server {
	w.T.Helper()
	s := signaltest.New()
	w.T.Cleanup(func() {
		s.Close()
		for _, err := range s.Errors() {
			w.T.Errorf("a request that signal-cli does not know: %v", err)
		}
	})
	w.Env = append(w.Env, "EVERTHREAD_CHANNELS_SIGNAL_API_URL="+s.URL(),
		"EVERTHREAD_CHANNELS_SIGNAL_ACCOUNT="+signaltest.Account, "EVERTHREAD_CHANNELS_SIGNAL_RATE_PER_CHAT=0")
	return s
}

// SignalCLI starts a real signal-cli without an account and without names of other machines, and returns its address.
func SignalCLI(t *testing.T) string {
	t.Helper()
	program := os.Getenv("EVERTHREAD_TEST_SIGNAL_CLI")
	if program == "" {
		t.Skip("EVERTHREAD_TEST_SIGNAL_CLI is not set; `make test` sets signal-cli up, scripts/signal.sh prints it")
	}
	dir, address := t.TempDir(), FreeAddress(t)
	hosts := filepath.Join(dir, "hosts")
	writeFile(t, hosts, "")
	cmd := exec.Command(program, "--config", filepath.Join(dir, "config"), "daemon", "--http="+address,
		"--receive-mode=on-connection", "--no-receive-stdout")
	cmd.Env = append(os.Environ(), "JAVA_TOOL_OPTIONS=-Djdk.net.hosts.file="+hosts+" -Djava.io.tmpdir="+dir)
	run(t, "signal-cli", cmd, dir)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if resp, err := http.Get("http://" + address + "/api/v1/check"); err == nil {
			resp.Body.Close()
			return "http://" + address
		}
		if time.Now().After(deadline) {
			t.Fatal("signal-cli does not answer")
		}
	}
}

// Front passes requests on to a server that can be changed.
type Front struct {
	Address string // where it listens once there is a server

	t      *testing.T
	mu     sync.Mutex
	to     *httputil.ReverseProxy // nil: nothing listens
	counts map[string]int         // of requests by path, since To
}

// NewFront returns one that does not listen yet.
func NewFront(t *testing.T) *Front { return &Front{t: t, Address: FreeAddress(t)} }

// To sends further requests to a server.
func (f *Front) To(root string) {
	f.t.Helper()
	to, err := url.Parse(root)
	Must(f.t, err)
	f.mu.Lock()
	defer f.mu.Unlock()
	listens := f.to != nil
	f.to, f.counts = httputil.NewSingleHostReverseProxy(to), map[string]int{}
	f.to.FlushInterval = -1
	f.to.ErrorLog = log.New(io.Discard, "", 0)
	if listens {
		return
	}
	l, err := net.Listen("tcp", f.Address)
	Must(f.t, err)
	server := &http.Server{Handler: f}
	go func() { _ = server.Serve(l) }()
	f.t.Cleanup(func() { _ = server.Close() })
}

func (f *Front) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	f.mu.Lock()
	to := f.to
	f.counts[req.URL.Path]++
	f.mu.Unlock()
	to.ServeHTTP(w, req)
}

// Count returns the number of requests for a path since To.
func (f *Front) Count(path string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.counts[path]
}
