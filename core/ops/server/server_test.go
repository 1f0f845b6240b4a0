package server

import (
	"net"
	"net/http"
	"strings"
	"testing"
)

// TestListen_namesAFreeAddress names one that can be used if the address is taken, and none otherwise.
func TestListen_namesAFreeAddress(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	for address, such := range map[string]bool{ln.Addr().String(): true, "127.0.0.1": false, "192.0.2.1:80": false} {
		_, err := Listen("http.listen", address)
		if err == nil || !strings.Contains(err.Error(), "set http.listen to an address that is free") {
			t.Fatalf("%s: %v", address, err)
		}
		_, free, named := strings.Cut(err.Error(), ", such as ")
		if named != such {
			t.Errorf("%s: %v", address, err)
		}
		if other, err := Listen("http.listen", free); named && err != nil {
			t.Errorf("%s is not free: %v", free, err)
		} else if named {
			other.Close()
		}
	}
}

// TestAlive_leavesTheListenerOpen checks that the process answers before it is ready, on the
// listener that the server uses later.
func TestAlive_leavesTheListenerOpen(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	status := func(path string) int {
		resp, err := http.Get("http://" + ln.Addr().String() + path)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		return resp.StatusCode
	}
	stop := Alive(ln)
	if a, b := status("/healthz"), status("/readyz"); a != 200 || b != 503 {
		t.Errorf("healthz %d, readyz %d", a, b)
	}
	stop()
	s := &http.Server{Handler: http.NotFoundHandler()}
	go func() { _ = s.Serve(Lend(ln)) }()
	defer s.Close()
	if got := status("/healthz"); got != 404 {
		t.Errorf("status of the next server %d, want 404", got)
	}
}
