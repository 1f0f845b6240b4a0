package server

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
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

// TestSite_belowAPath serves the same to clients whose proxy removes the path and to those whose proxy keeps it.
func TestSite_belowAPath(t *testing.T) {
	t.Parallel()
	page := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "at ", r.URL.EscapedPath()) })
	s := &Site{Routes: map[string]http.Handler{"GET /": page, "GET /m/{id}": page}, Apart: true,
		Root: func(*http.Request) string { return "/e" }}
	for path, want := range map[string]string{"/": "at /", "/e/": "at /", "/e/m/1": "at /m/1", "/m/1": "at /m/1",
		"/e/a%2Fb": "at /a%2Fb", "/eve": "at /eve", "/e/healthz": `{"status":"ok"}` + "\n"} {
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		if w.Code != 200 || w.Body.String() != want {
			t.Errorf("%s: %d %q", path, w.Code, w.Body)
		}
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/e", nil))
	if to := w.Header().Get("Location"); w.Code != http.StatusPermanentRedirect || to != "/e/" {
		t.Errorf("/e: %d to %q", w.Code, to)
	}
}
