//go:build e2e

package road

import (
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/e2e/e2etest"
)

func TestDoctor_findsFaultsOfThePlace(t *testing.T) {
	t.Parallel()
	w := e2etest.NewClock(t, "")
	free, other := e2etest.FreeAddress(t), e2etest.FreeAddress(t)
	w.WantDoctor("http.listen", "ok "+free+" is free", "EVERTHREAD_HTTP_LISTEN="+free)
	ln, err := net.Listen("tcp", other)
	e2etest.Must(t, err)
	go func() { _ = http.Serve(ln, http.NotFoundHandler()) }() // until the listener is closed
	defer ln.Close()
	w.WantDoctor("http.listen", "PROBLEM another program listens on "+other+
		"; stop it, or set http.listen to a free address, such as 127.0.0.1:", "EVERTHREAD_HTTP_LISTEN="+other)
	w.WantDoctor("http.metrics_listen", "PROBLEM another program listens on "+other+
		"; stop it, or set http.metrics_listen", "EVERTHREAD_HTTP_METRICS_LISTEN="+other)
	w.WantDoctor("http.listen", "PROBLEM 192.0.2.1:80 is not an address of this machine",
		"EVERTHREAD_HTTP_LISTEN=192.0.2.1:80")
	w.WantDoctor("http.public_url", "PROBLEM the name nowhere.invalid cannot be found",
		"EVERTHREAD_HTTP_PUBLIC_URL=https://nowhere.invalid")
	g := w.Start()
	mine := "EVERTHREAD_HTTP_LISTEN=" + strings.TrimPrefix(g.URL, "http://")
	w.WantDoctor("http.listen", "ok an everthread answers on", mine)
	w.WantDoctor("http.listen", "PROBLEM another everthread, with data other than", mine, "EVERTHREAD_DATA_DIR="+t.TempDir())
}

func TestDoctor_asksForBackups(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewClock(t, database(t))
		if said := w.Doctor()["backups"]; said != nil {
			t.Errorf("without data: %q", said)
		}
		w.Set(time.Now()) // backups are named after the real time
		g := w.Start()
		g.Logged(`everthread is up`)
		const cron = "EVERTHREAD_BACKUP_CRON=15 3 * * *"
		nobody, overdue := "PROBLEM there are none in ", "PROBLEM none was made yet, and one has been due since "
		if w.Database != "" {
			nobody = "ok the gateway makes none: check that the database server"
			w.WantDoctor("backups", nobody)
		} else {
			w.WantDoctor("backups", "ok none yet: set backup.cron")
		}
		w.Set(time.Now().Add(48 * time.Hour))
		w.WantDoctor("backups", nobody)
		w.WantDoctor("backups", overdue, cron)
		w.MustRun("backup")
		w.WantDoctor("backups", "ok the newest is from ")
		g.Stop()
		g = w.Start(cron)
		g.Logged(`backup made`)
		w.WantDoctor("backups", "it is next to the data: set backup.dir", cron)
		g.Stop() // otherwise it creates the next one
		w.Set(time.Now().Add(14 * 24 * time.Hour))
		if w.Database == "" {
			w.WantDoctor("backups", "PROBLEM the newest is from ")
		}
	})
}

// passedOn returns the answer to a program on the machine that forwards a request with
// additional headers.
func passedOn(t *testing.T, address string, headers ...string) (int, string) {
	t.Helper()
	r, err := http.NewRequest(http.MethodGet, address, nil)
	e2etest.Must(t, err)
	r.Header.Set("X-Forwarded-For", "192.0.2.7")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	e2etest.Must(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	e2etest.Must(t, err)
	return resp.StatusCode, strings.TrimSpace(string(body))
}

func TestMetrics_hiddenFromStrangers(t *testing.T) {
	t.Parallel()
	w := e2etest.NewTown(t, "")
	g := w.Start()
	if status, body := g.Get("/metrics"); status != http.StatusOK || !strings.Contains(body, "everthread_info{") {
		t.Errorf("on the machine: %d %.200s", status, body)
	}
	if status, body := passedOn(t, g.URL+"/metrics"); status != http.StatusForbidden ||
		strings.Contains(body, "everthread_info") {
		t.Errorf("through a proxy: %d %.200s", status, body)
	}
	const word = `{"ready":true}`
	if _, body := g.Get("/readyz"); !strings.Contains(body, `"telegram":"ok"`) {
		t.Errorf("on the machine: %s", body)
	}
	if status, body := passedOn(t, g.URL+"/readyz"); status != http.StatusOK || body != word {
		t.Errorf("through a proxy: %d %s", status, body)
	}
	admin, _ := w.APIKey("", "admin")
	other, _ := w.APIKey("", "talk")
	jar := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := jar.PostForm(g.URL+"/signin", url.Values{"code": {g.WebCode()}})
	e2etest.Must(t, err)
	e2etest.Must(t, resp.Body.Close())
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
		if status, body := passedOn(t, g.URL+"/readyz", c.header, c.value); status != http.StatusOK ||
			strings.Contains(body, "telegram") != c.told {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
}

func TestMetrics_addressOfTheirOwn(t *testing.T) {
	t.Parallel()
	w := e2etest.NewTown(t, "")
	at := e2etest.FreeAddress(t)
	g := w.Start("EVERTHREAD_HTTP_METRICS_LISTEN=" + at)
	if status, body := g.Get("/metrics"); status != http.StatusNotFound {
		t.Errorf("on the page's address: %d %.200s", status, body)
	}
	if status, body := passedOn(t, "http://"+at+"/metrics"); status != http.StatusOK ||
		!strings.Contains(body, "everthread_info{") {
		t.Errorf("on their own: %d %.200s", status, body)
	}
	for _, path := range []string{"/", "/readyz", "/api/v1/days"} {
		if status, _ := passedOn(t, "http://"+at+path); status != http.StatusNotFound {
			t.Errorf("%s is there, too: %d", path, status)
		}
	}
	second := *w
	second.Dir = t.TempDir()
	second.Env = append(second.Env[:len(second.Env):len(second.Env)], "EVERTHREAD_DATA_DIR="+second.Dir,
		"EVERTHREAD_HTTP_METRICS_LISTEN="+at)
	taken := second.Launch()
	taken.Logged(`set http\.metrics_listen to an address that is free`)
	if !taken.Wait(10*time.Second) || taken.Cmd.ProcessState.ExitCode() != 1 {
		t.Error("it continues although the address is in use")
	}
}
