package server

import (
	"net"
	"net/http"
	"testing"
)

// TestAliveLeavesTheListenerOpen checks that the process answers before it is ready, on the
// listener that the server uses later.
func TestAliveLeavesTheListenerOpen(t *testing.T) {
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
	go func() { _ = s.Serve(ln) }()
	defer s.Close()
	if got := status("/healthz"); got != 404 {
		t.Errorf("status of the next server %d, want 404", got)
	}
}
