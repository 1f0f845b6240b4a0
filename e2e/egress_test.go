//go:build e2e

package e2e

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
)

// inside is a server that nobody outside may reach.
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

// TestAttackAddressesThatAPersonSets tries to reach the gateway's own network, and the
// model and the chat service that the operator wrote, from the settings page.
func TestAttackAddressesThatAPersonSets(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := newTown(t, database(t))
		secret, reached := inside(t)
		_, port, err := net.SplitHostPort(strings.TrimPrefix(secret, "http://"))
		must(t, err)
		g := w.start()
		v := g.newGuest(g.webCode())
		try := func(address string) string {
			t.Helper()
			resp, body := v.post("/settings/embeddings", url.Values{"do": {"test"}, "provider": {"custom_http"}, "base_url": {address}, "model": {"m"}})
			if resp.StatusCode >= 500 {
				t.Errorf("%s: %s", address, resp.Status)
			}
			return body
		}
		const private = "This address leads into the gateway&#39;s own network"
		for _, host := range []string{"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "[::]", "127.1.1.1"} {
			if got := try("http://" + host + ":" + port + "/"); !strings.Contains(got, private) {
				t.Errorf("%s: %s", host, got)
			}
		}
		for _, address := range []string{"http://169.254.169.254/latest/meta-data/", "http://[fd00:ec2::254]/", "http://10.0.0.1/", w.model + "/v1/embeddings", w.telegram.URL() + "/", g.URL + "/metrics"} {
			if got := try(address); !strings.Contains(got, private) {
				t.Errorf("%s: %s", address, got)
			}
		}
		if n := reached.Load(); n != 0 {
			t.Errorf("a server inside was reached %d times", n)
		}
		g.stop()

		g = w.start("EVERTHREAD_EGRESS_ALLOW_HOSTS=api.example.org,127.0.0.1:" + port)
		v = g.newGuest(newLink(w, g))
		if got := try("https://elsewhere.example/v1"); !strings.Contains(got, "allows certain hosts only") {
			t.Errorf("a host that is not on the list: %s", got)
		}
		if try("http://127.0.0.1:" + port + "/"); reached.Load() == 0 {
			t.Error("what the operator wrote with its port was not reached")
		}
	})
}

// TestAttackFilesThatLeadAway has the chat service send whoever fetches a file on to an
// address inside.
func TestAttackFilesThatLeadAway(t *testing.T) {
	t.Parallel()
	w := newTown(t, "")
	secret, reached := inside(t)
	service, err := url.Parse(w.telegram.URL())
	must(t, err)
	forward := httputil.NewSingleHostReverseProxy(service)
	front := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/file/") {
			http.Redirect(rw, r, secret+"/admin", http.StatusFound)
			return
		}
		forward.ServeHTTP(rw, r)
	}))
	t.Cleanup(front.Close)
	w.telegram.AddFile("photo", "files/photo", picture)
	g := w.start("EVERTHREAD_CHANNELS_TELEGRAM_API_URL=" + front.URL)
	m := written(ada, 1, "")
	delete(m, "text")
	m["photo"], m["caption"] = photo("photo"), "look"
	w.telegram.Offer(map[string]any{"message": m})
	if got := w.sent(ada, 1)[0].Text; !strings.Contains(got, "look") {
		t.Errorf("the answer is %q", got)
	}
	w.ledger().until(`SELECT COUNT(*) FROM jobs WHERE error LIKE '%private network%'`, 1, g)
	if n := reached.Load(); n != 0 {
		t.Errorf("a server inside was reached %d times", n)
	}
	if files := w.kept(); len(files) != 0 {
		t.Errorf("kept %v", files)
	}
}

// TestFilesOfADayAreFetchedTheNextDay: what a day's allowance has no room for waits for
// the next.
func TestFilesOfADayAreFetchedTheNextDay(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := newClock(t, database(t))
		g := w.start("EVERTHREAD_EGRESS_CALLS_PER_DAY=4") // two of a file
		send := func(id string) {
			w.telegram.AddFile(id, "files/"+id, append([]byte(id+" "), picture...))
			w.next++
			m := written(ada, w.next, "")
			delete(m, "text")
			m["date"], m["photo"] = w.now().Unix(), photo(id)
			w.telegram.Offer(map[string]any{"message": m})
			w.receive()
		}
		l := w.ledger()
		for _, id := range []string{"one", "two", "three"} {
			send(id)
			if id != "three" {
				l.fetched(g)
			}
		}
		l.until(`SELECT COUNT(*) FROM jobs WHERE error LIKE '%egress.calls_per_day%'`, 1, g)
		if n := len(w.kept()); n != 2 {
			t.Errorf("%d files are kept", n)
		}
		g.stop() // what it had taken of the allowance is in the database
		g = w.start("EVERTHREAD_EGRESS_CALLS_PER_DAY=4")
		send("four")
		l.until(`SELECT COUNT(*) FROM jobs WHERE error LIKE '%egress.calls_per_day%'`, 2, g)
		w.set(w.now().Add(24*time.Hour + time.Minute))
		l.fetched(g)
		if n := len(w.kept()); n != 4 {
			t.Errorf("the next day %d files are kept: %v", n, l.attachments())
		}
	})
}
