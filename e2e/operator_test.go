//go:build e2e

package e2e

import (
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// wantDoctor checks that doctor's findings of one thing say something.
func (w *town) wantDoctor(check, want string, env ...string) {
	w.t.Helper()
	if all := strings.Join(w.doctor(env...)[check], "\n"); !strings.Contains(all, want) {
		w.t.Errorf("%v: %s: got %q, want %q", env, check, all, want)
	}
}

func TestDoctorSaysWhatIsWrongWithThePlace(t *testing.T) {
	t.Parallel()
	w := newClock(t, "")
	free, other := freeAddress(t), freeAddress(t)
	w.wantDoctor("http.listen", "ok "+free+" is free", "EVERTHREAD_HTTP_LISTEN="+free)
	ln, err := net.Listen("tcp", other)
	must(t, err)
	go func() { _ = http.Serve(ln, http.NotFoundHandler()) }() // until the listener is closed
	defer ln.Close()
	w.wantDoctor("http.listen", "PROBLEM another program listens on "+other+"; stop it, or set http.listen to an address that is free, such as 127.0.0.1:", "EVERTHREAD_HTTP_LISTEN="+other)
	w.wantDoctor("http.metrics_listen", "PROBLEM another program listens on "+other+"; stop it, or set http.metrics_listen", "EVERTHREAD_HTTP_METRICS_LISTEN="+other)
	w.wantDoctor("http.listen", "PROBLEM 192.0.2.1:80 is no address of this machine", "EVERTHREAD_HTTP_LISTEN=192.0.2.1:80")
	w.wantDoctor("http.public_url", "PROBLEM the name nowhere.invalid cannot be found", "EVERTHREAD_HTTP_PUBLIC_URL=https://nowhere.invalid")
	g := w.start()
	mine := "EVERTHREAD_HTTP_LISTEN=" + strings.TrimPrefix(g.URL, "http://")
	w.wantDoctor("http.listen", "ok an everthread answers on", mine)
	w.wantDoctor("http.listen", "PROBLEM another everthread, with other data", mine, "EVERTHREAD_DATA_DIR="+t.TempDir())
}

func TestDoctorAsksForBackups(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := newClock(t, database(t))
		if said := w.doctor()["backups"]; said != nil {
			t.Errorf("without data: %q", said)
		}
		w.set(time.Now()) // backups are named by the clock on the wall
		g := w.start()
		g.logged(`everthread is up`)
		const cron = "EVERTHREAD_BACKUP_CRON=15 3 * * *"
		nobody, overdue := "PROBLEM there is none in ", "PROBLEM none was made yet, and one has been due since "
		if w.database != "" {
			nobody = "ok the gateway makes none: see that the database server"
			w.wantDoctor("backups", nobody)
		} else {
			w.wantDoctor("backups", "ok none yet: set backup.cron")
		}
		w.set(time.Now().Add(48 * time.Hour))
		w.wantDoctor("backups", nobody)
		w.wantDoctor("backups", overdue, cron)
		w.mustRun("backup")
		w.wantDoctor("backups", "ok the newest is of ")
		g.stop()
		g = w.start(cron)
		g.logged(`backup made`)
		w.wantDoctor("backups", "it lies beside the data: set backup.dir", cron)
		g.stop() // or it makes the next one
		w.set(time.Now().Add(14 * 24 * time.Hour))
		if w.database == "" {
			w.wantDoctor("backups", "PROBLEM the newest is of ")
		}
	})
}

// passedOn is what a program on the machine gets that passes somebody on, with more
// headers.
func passedOn(t *testing.T, address string, headers ...string) (int, string) {
	t.Helper()
	r, err := http.NewRequest(http.MethodGet, address, nil)
	must(t, err)
	r.Header.Set("X-Forwarded-For", "192.0.2.7")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	must(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	must(t, err)
	return resp.StatusCode, strings.TrimSpace(string(body))
}

func TestWhatStrangersAreTold(t *testing.T) {
	t.Parallel()
	w := newTown(t, "")
	g := w.start()
	if status, body := g.get("/metrics"); status != http.StatusOK || !strings.Contains(body, "everthread_info{") {
		t.Errorf("on the machine: %d %.200s", status, body)
	}
	if status, body := passedOn(t, g.URL+"/metrics"); status != http.StatusForbidden || strings.Contains(body, "everthread_info") {
		t.Errorf("through a proxy: %d %.200s", status, body)
	}
	const word = `{"ready":true}`
	if _, body := g.get("/readyz"); !strings.Contains(body, `"telegram":"ok"`) {
		t.Errorf("on the machine: %s", body)
	}
	if status, body := passedOn(t, g.URL+"/readyz"); status != http.StatusOK || body != word {
		t.Errorf("through a proxy: %d %s", status, body)
	}
	admin, _ := w.apiKey("", "admin")
	other, _ := w.apiKey("", "talk")
	jar := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := jar.PostForm(g.URL+"/signin", url.Values{"code": {g.webCode()}})
	must(t, err)
	must(t, resp.Body.Close())
	cookies := ""
	for _, k := range resp.Cookies() {
		cookies += k.Name + "=" + k.Value + ";"
	}
	for name, c := range map[string]struct {
		header, value string
		told          bool
	}{
		"the owner's key":       {"Authorization", "Bearer " + admin, true},
		"another key of hers":   {"Authorization", "Bearer " + other, false},
		"no key":                {"Authorization", "Bearer et_x", false},
		"the owner's browser":   {"Cookie", cookies, true},
		"a browser of nobody's": {"Cookie", "everthread=x", false},
	} {
		if status, body := passedOn(t, g.URL+"/readyz", c.header, c.value); status != http.StatusOK || strings.Contains(body, "telegram") != c.told {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
}

func TestMetricsHaveAnAddressOfTheirOwn(t *testing.T) {
	t.Parallel()
	w := newTown(t, "")
	at := freeAddress(t)
	g := w.start("EVERTHREAD_HTTP_METRICS_LISTEN=" + at)
	if status, body := g.get("/metrics"); status != http.StatusNotFound {
		t.Errorf("on the page's address: %d %.200s", status, body)
	}
	if status, body := passedOn(t, "http://"+at+"/metrics"); status != http.StatusOK || !strings.Contains(body, "everthread_info{") {
		t.Errorf("on their own: %d %.200s", status, body)
	}
	for _, path := range []string{"/", "/readyz", "/api/v1/days"} {
		if status, _ := passedOn(t, "http://"+at+path); status != http.StatusNotFound {
			t.Errorf("%s is there, too: %d", path, status)
		}
	}
	second := *w
	second.dir = t.TempDir()
	second.env = append(second.env[:len(second.env):len(second.env)], "EVERTHREAD_DATA_DIR="+second.dir, "EVERTHREAD_HTTP_METRICS_LISTEN="+at)
	taken := second.launch()
	taken.logged(`set http\.metrics_listen to an address that is free`)
	if !taken.wait(10*time.Second) || taken.cmd.ProcessState.ExitCode() != 1 {
		t.Error("it goes on where the address is taken")
	}
}
