//go:build e2e

package people

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/everthread/everthread/e2e/e2etest"
)

// inside is an internal server that must not be reached.
func inside(t *testing.T) (address string, reached *atomic.Int32) {
	t.Helper()
	reached = new(atomic.Int32)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		reached.Add(1)
		_, _ = w.Write([]byte("the secret of the network"))
	}))
	t.Cleanup(s.Close)
	return s.URL, reached
}

// TestAttack_addressesThatAPersonSets tries to reach the gateway's own network, and the
// configured model and chat service, from the settings page.
func TestAttack_addressesThatAPersonSets(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewTown(t, database(t))
		secret, reached := inside(t)
		_, port, err := net.SplitHostPort(strings.TrimPrefix(secret, "http://"))
		e2etest.Must(t, err)
		g := w.Start()
		v := g.NewGuest(g.WebCode())
		try := func(address string) string {
			t.Helper()
			resp, body := v.Post("/settings/embeddings", url.Values{"do": {"test"}, "provider": {"custom_http"},
				"base_url": {address}, "model": {"m"}})
			if resp.StatusCode >= 500 {
				t.Errorf("%s: %s", address, resp.Status)
			}
			return body
		}
		const private = "This address is in the gateway&#39;s own network"
		for _, host := range []string{"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0",
			"[::]", "127.1.1.1"} {
			if got := try("http://" + host + ":" + port + "/"); !strings.Contains(got, private) {
				t.Errorf("%s: %s", host, got)
			}
		}
		for _, address := range []string{"http://169.254.169.254/latest/meta-data/", "http://[fd00:ec2::254]/",
			"http://10.0.0.1/", w.Model + "/v1/embeddings", w.Telegram.URL() + "/", g.URL + "/metrics"} {
			if got := try(address); !strings.Contains(got, private) {
				t.Errorf("%s: %s", address, got)
			}
		}
		if n := reached.Load(); n != 0 {
			t.Errorf("a server inside was reached %d times", n)
		}
		g.Stop()

		g = w.Start("EVERTHREAD_EGRESS_ALLOW_HOSTS=api.example.org,127.0.0.1:" + port)
		v = g.NewGuest(e2etest.NewLink(w, g))
		if got := try("https://elsewhere.example/v1"); !strings.Contains(got, "allows only certain hosts") {
			t.Errorf("a host that is not on the list: %s", got)
		}
		if try("http://127.0.0.1:" + port + "/"); reached.Load() == 0 {
			t.Error("what the operator wrote with its port was not reached")
		}
	})
}

// TestAttack_filesThatLeadAway redirects the download of a file from the chat service to an internal
// address.
func TestAttack_filesThatLeadAway(t *testing.T) {
	t.Parallel()
	w := e2etest.NewTown(t, "")
	secret, reached := inside(t)
	service, err := url.Parse(w.Telegram.URL())
	e2etest.Must(t, err)
	forward := httputil.NewSingleHostReverseProxy(service)
	front := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/file/") {
			http.Redirect(rw, r, secret+"/admin", http.StatusFound)
			return
		}
		forward.ServeHTTP(rw, r)
	}))
	t.Cleanup(front.Close)
	w.Telegram.AddFile("photo", "files/photo", e2etest.Picture)
	g := w.Start("EVERTHREAD_CHANNELS_TELEGRAM_API_URL=" + front.URL)
	m := e2etest.Written(e2etest.Ada, 1, "")
	delete(m, "text")
	m["photo"], m["caption"] = e2etest.Photo("photo"), "look"
	w.Telegram.Offer(map[string]any{"message": m})
	if got := w.Sent(e2etest.Ada, 1)[0].Text; !strings.Contains(got, "look") {
		t.Errorf("the answer is %q", got)
	}
	w.Ledger().Until(`SELECT COUNT(*) FROM jobs WHERE error LIKE '%private network%'`, 1, g)
	if n := reached.Load(); n != 0 {
		t.Errorf("a server inside was reached %d times", n)
	}
	if files := w.Kept(); len(files) != 0 {
		t.Errorf("kept %v", files)
	}
}

// TestFiles_overAllowanceWaitADay checks that downloads beyond a day's allowance wait for the
// next day.
func TestFiles_overAllowanceWaitADay(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewClock(t, database(t))
		g := w.Start("EVERTHREAD_EGRESS_CALLS_PER_DAY=4") // two for each file
		send := func(id string) {
			w.Telegram.AddFile(id, "files/"+id, append([]byte(id+" "), e2etest.Picture...))
			w.Next++
			m := e2etest.Written(e2etest.Ada, w.Next, "")
			delete(m, "text")
			m["date"], m["photo"] = w.Now().Unix(), e2etest.Photo(id)
			w.Telegram.Offer(map[string]any{"message": m})
			w.Receive()
		}
		l := w.Ledger()
		for _, id := range []string{"one", "two", "three"} {
			send(id)
			if id != "three" {
				l.Fetched(g)
			}
		}
		l.Until(`SELECT COUNT(*) FROM jobs WHERE error LIKE '%egress.calls_per_day%'`, 1, g)
		if n := len(w.Kept()); n != 2 {
			t.Errorf("%d files are kept", n)
		}
		g.Stop() // its unused allowance is returned to the database
		g = w.Start("EVERTHREAD_EGRESS_CALLS_PER_DAY=4")
		send("four")
		l.Until(`SELECT COUNT(*) FROM jobs WHERE error LIKE '%egress.calls_per_day%'`, 2, g)
		w.Set(w.Now().Add(24*time.Hour + time.Minute))
		l.Fetched(g)
		if n := len(w.Kept()); n != 4 {
			t.Errorf("the next day %d files are kept: %v", n, l.Attachments())
		}
	})
}
