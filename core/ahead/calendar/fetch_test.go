package calendar

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/core/ahead/source"
	"github.com/everthread/everthread/core/trust/egress"
)

const small = "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nSUMMARY:Dentist\r\nDTSTART:20261124T080000Z\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"

var tuesday = time.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC)

func TestSource_saysWhatIsWrong(t *testing.T) {
	t.Parallel()
	var leaked string
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		leaked += r.Referer()
		_, _ = io.WriteString(w, small)
	}))
	defer other.Close()
	stop := make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("/good", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, small) })
	mux.HandleFunc("/html", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>Sign in</html>") })
	mux.HandleFunc("/empty", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/loop", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/loop", http.StatusFound) })
	mux.HandleFunc("/hop", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/good", http.StatusFound) })
	mux.HandleFunc("/elsewhere", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other.URL, http.StatusFound) })
	mux.HandleFunc("/denied", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) })
	mux.HandleFunc("/broken", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	mux.HandleFunc("/hang", func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-stop:
		}
	})
	mux.HandleFunc("/huge", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "BEGIN:VCALENDAR\r\n")
		line := []byte(strings.Repeat("X-PADDING:"+strings.Repeat("x", 500)+"\r\n", 100))
		for err := error(nil); err == nil; {
			_, err = w.Write(line)
		}
	})
	mux.HandleFunc("/user", func(w http.ResponseWriter, r *http.Request) {
		if _, password, _ := r.BasicAuth(); password != "pass" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = io.WriteString(w, small)
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	defer close(stop)
	secure := httptest.NewTLSServer(mux)
	defer secure.Close()
	folder := t.TempDir()
	file := filepath.Join(folder, "a.ics")
	if err := os.WriteFile(file, []byte(small), 0o600); err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]error{
		server.URL + "/good": nil, server.URL + "/hop": nil, server.URL + "/html": source.NoCalendar, server.URL + "/empty": source.NoCalendar,
		server.URL + "/loop": source.Missing, server.URL + "/elsewhere": source.Forbidden, server.URL + "/denied": source.Refused,
		server.URL + "/broken": source.Unreachable, server.URL + "/nothing": source.Missing, server.URL + "/hang": source.Slow,
		server.URL + "/huge": source.TooLarge, secure.URL + "/good": source.Untrusted, file: nil, folder: source.Missing,
		filepath.Join(folder, "none.ics"): source.Missing, "http://127.0.0.1:1/a": source.Unreachable, "http://\x7f": source.Missing,
		strings.Replace(server.URL, "http://", "http://ada:pass@", 1) + "/user": nil, server.URL + "/user": source.Refused,
	} {
		ctx, cancel := context.WithCancel(t.Context())
		if errors.Is(want, source.Slow) {
			ctx, cancel = context.WithTimeout(ctx, time.Second)
		}
		found, err := New(address, (*egress.Gate)(nil).Client(address)).Events(ctx, tuesday, tuesday.AddDate(0, 0, 1), time.UTC)
		cancel()
		if !errors.Is(err, want) || want == nil && (err != nil || len(found.Events) != 1) {
			t.Errorf("%q: %v, %v, want %v", address, found, err, want)
		}
		if err != nil && strings.Contains(fmt.Sprint(err), "127.0.0.1") {
			t.Errorf("the error repeats the address: %v", err)
		}
	}
	both := New(server.URL+"/elsewhere", (*egress.Gate)(nil).Client(server.URL, other.URL))
	if _, err := both.Events(t.Context(), tuesday, tuesday.AddDate(0, 0, 1), time.UTC); err != nil || leaked != "" {
		t.Errorf("%v; another server was told %q", err, leaked)
	}
}

func TestURL(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{"webcal://a.example/b?c": "https://a.example/b?c", "WEBCALS://a/b": "https://a/b",
		"http://a/b": "http://a/b"} {
		if got, file := URL(address); got != want || file {
			t.Errorf("%s: %s, %v", address, got, file)
		}
	}
	if got, file := URL("/srv/a.ics"); got != "/srv/a.ics" || !file {
		t.Error(got, file)
	}
}
