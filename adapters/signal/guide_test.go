package signal

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/adapters/signal/signaltest"
	"github.com/everthread/everthread/core/channel"
)

// guided returns a configuration for a daemon, with its guide.
func guided(t *testing.T, url, account string) (*Config, channel.Guide) {
	t.Helper()
	c := Default()
	c.APIURL, c.Account = url, account
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	return c, c.Guide("en", channel.Host{Client: func(...string) *http.Client { return client }})
}

func TestGuide_triesAnAccount(t *testing.T) {
	t.Parallel()
	p := newPlay(t)
	c, g := guided(t, p.s.URL(), " "+strings.ToUpper(signaltest.Self)+" ")
	tried, err := g.Try(t.Context())
	if err != nil || tried.Said != "Signal accepts the account "+signaltest.Self+"." || c.Account != signaltest.Self ||
		strings.Join(tried.Keys, " ") != "account "+signaltest.Self+" api_url "+p.s.URL() {
		t.Errorf("got %+v, %v", tried, err)
	}
	html := newPlay(t)
	html.s.Fail("listDevices", 1, signaltest.Failure{Garbage: true})
	p.s.Unlink()
	for name, one := range map[string]struct{ url, want string }{
		"no daemon":   {html.s.URL(), "does not answer like signal-cli's daemon"},
		"no account":  {p.s.URL(), "signal-cli does not have the account +4930000001"},
		"no address":  {"nonsense", "the address is wrong"},
		"not reached": {"http://127.0.0.1:1", "127.0.0.1:1 does not answer"},
	} {
		_, g := guided(t, one.url, signaltest.Account)
		if _, err := g.Try(t.Context()); err == nil || !strings.Contains(err.Error(), one.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestGuide_linksByACode(t *testing.T) {
	t.Parallel()
	p := newPlay(t)
	p.s.Unlink()
	c, g := guided(t, p.s.URL(), channel.ScanAnswer)
	scan, err := g.Scan(t.Context())
	if err != nil || scan.Code != p.s.Code() || !strings.HasPrefix(scan.Code, "sgnl://linkdevice?") ||
		!strings.Contains(scan.Help, "Linked devices") {
		t.Fatalf("got %+v, %v", scan, err)
	}
	done := make(chan error, 1)
	go func() { done <- scan.Done(t.Context()) }()
	until(t, "the wait", func() bool { return p.s.Calls("finishLink") == 1 })
	p.s.Scan(scan.Code)
	if err := <-done; err != nil || c.Account != signaltest.Account {
		t.Errorf("linked to %q, %v", c.Account, err)
	}
	if tried, err := g.Try(t.Context()); err != nil || tried.Keys[1] != signaltest.Account {
		t.Errorf("got %+v, %v", tried, err)
	}
}

func TestGuide_codeThatIsNotScanned(t *testing.T) {
	t.Parallel()
	p := newPlay(t)
	_, g := guided(t, p.s.URL(), channel.ScanAnswer)
	scan, err := g.Scan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p.s.Scan("another")
	var f *channel.Fault
	if err := scan.Done(t.Context()); !errors.As(err, &f) || !strings.Contains(err.Error(), "not scanned in time (Link request timed out") {
		t.Errorf("got %v", err)
	}
	p.s.Fail("startLink", 1, signaltest.Failure{Code: codeMethod, Message: "Method not implemented"})
	if _, err := g.Scan(t.Context()); err == nil || !strings.Contains(err.Error(), "without -a") {
		t.Errorf("got %v", err)
	}
	p.s.Fail("startLink", 1, signaltest.Failure{Garbage: true})
	if _, err := g.Scan(t.Context()); err == nil || !strings.Contains(err.Error(), "does not answer like") {
		t.Errorf("got %v", err)
	}
	if scan, err = g.Scan(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := scan.Done(ctx); err == nil {
		t.Error("a code that nobody scanned has linked the daemon")
	}
}

func TestGuide_answers(t *testing.T) {
	t.Parallel()
	for answer, right := range map[string]bool{"scan": true, " +4930123456 ": true, strings.ToUpper(ada): true, "": false,
		"030123456": false, "scan it": false} {
		if answerForm().MatchString(answer) != right {
			t.Errorf("%q: want %v", answer, right)
		}
	}
}
