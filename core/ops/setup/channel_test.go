package setup_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/adapters/matrix"
	"github.com/everthread/everthread/adapters/signal"
	"github.com/everthread/everthread/adapters/signal/signaltest"
	"github.com/everthread/everthread/adapters/telegram"
	"github.com/everthread/everthread/adapters/whatsapp/agent"
	"github.com/everthread/everthread/core/ops/setup"
	"github.com/everthread/everthread/core/trust/egress"
)

func rejected(err error) bool {
	var r setup.Rejected
	return errors.As(err, &r)
}

// TestChannelTrier_keepsNothing: the section does not change, and no secret is said.
func TestChannelTrier_keepsNothing(t *testing.T) {
	t.Parallel()
	var asked []string
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Path)
		if !strings.HasPrefix(r.URL.Path, "/bot1:right/") {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, `{"ok":false,"error_code":401,"description":"Unauthorized"}`)
			return
		}
		_, _ = io.WriteString(w, `{"ok":true,"result":{"id":1,"is_bot":true,"username":"some_bot"}}`)
	}))
	t.Cleanup(service.Close)
	trier := setup.ChannelTrier{Now: time.Now}
	configured := telegram.Default()
	configured.APIURL = service.URL
	for name, c := range map[string]struct {
		has, answer, language string
		wants                 []string
		wrong                 bool
	}{
		"a token":                {"", "1:right", "en", []string{"@some_bot", "token", "1:right"}, false},
		"that which it has":      {"1:right", "", "fr", []string{"@some_bot", "1:right"}, false},
		"another than it has":    {"1:right", "1:wrong", "en", []string{"Unauthorized"}, true},
		"none":                   {"", "", "de", []string{"Es fehlt etwas"}, true},
		"what is no token":       {"", "hello", "en", []string{"BotFather"}, true},
		"the one with a newline": {"", "1:right\nx: y", "en", []string{"BotFather"}, true},
	} {
		configured.Token = ""
		if c.has != "" {
			configured.Token = "1:right"
		}
		before := *configured
		tried, err := trier.Try(t.Context(), configured, c.language, map[string]string{"telegram": c.answer})
		text := tried.Said + strings.Join(tried.Keys, " ")
		if err != nil {
			text = err.Error()
		}
		for _, want := range c.wants {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q is not in %q", name, want, text)
			}
		}
		if c.wrong != rejected(err) || strings.Contains(tried.Said, "1:right") || *configured != before {
			t.Errorf("%s: got %q, %v; the section is %+v", name, text, err, configured)
		}
	}
	if len(asked) != 3 {
		t.Errorf("the service was asked %v", asked)
	}
	if _, err := trier.Try(t.Context(), agent.Default(), "en", nil); !errors.Is(err, setup.ErrNoGuide) {
		t.Errorf("personal agents: %v", err)
	}
}

// TestChannelTrier_typedAddressIsNoWayInside: typed addresses do not reach into the gateway's network;
// those of the configuration do.
func TestChannelTrier_typedAddressIsNoWayInside(t *testing.T) {
	t.Parallel()
	reached := 0
	inside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		reached++
		w.WriteHeader(http.StatusNotFound)
	}))
	t.Cleanup(inside.Close)
	configured := matrix.Default()
	configured.UserID, configured.Password = "@bot:example.org", "secret"
	trier := setup.ChannelTrier{Now: time.Now}
	typed := map[string]string{"matrix_homeserver": inside.URL, "matrix_password": "typed"}
	_, err := trier.Try(t.Context(), configured, "en", typed)
	if reached > 0 || err == nil || !strings.Contains(err.Error(), "private network") {
		t.Errorf("reached %d times, %v", reached, err)
	}
	configured.Homeserver = inside.URL
	if _, err := trier.Try(t.Context(), configured, "en", nil); reached == 0 || !rejected(err) {
		t.Errorf("what is configured was reached %d times, %v", reached, err)
	}
}

// TestChannelTrier_scan: the account of the phone that scanned a code is tried, and the section does not change. An address
// of the configuration that the page repeats is not a typed one.
func TestChannelTrier_scan(t *testing.T) {
	t.Parallel()
	d := signaltest.New()
	t.Cleanup(d.Close)
	d.Unlink()
	configured := signal.Default()
	configured.APIURL = d.URL()
	before := *configured
	trier := setup.ChannelTrier{Now: time.Now}
	scan, done, err := trier.Scan(t.Context(), configured, "en", map[string]string{"signal_address": d.URL(), "signal_account": ""})
	if err != nil {
		t.Fatal(err)
	}
	d.Scan(scan.Code)
	if tried, err := done(t.Context()); err != nil || tried.Keys[1] != signaltest.Account || *configured != before {
		t.Errorf("got %+v, %v; the section is %+v", tried, err, configured)
	}
	typed := map[string]string{"signal_address": "http://127.0.0.1:1"}
	if _, _, err := trier.Scan(t.Context(), configured, "en", typed); !rejected(err) || !strings.Contains(err.Error(), "private network") {
		t.Errorf("a typed address: %v", err)
	}
	scan, done, err = trier.Scan(t.Context(), configured, "en", nil)
	d.Scan("another")
	if _, late := done(t.Context()); err != nil || !rejected(late) {
		t.Errorf("a code that ran out: %+v, %v, %v", scan, err, late)
	}
	if _, _, err := trier.Scan(t.Context(), telegram.Default(), "en", map[string]string{"telegram": "1:a"}); !errors.Is(err, setup.ErrNoGuide) {
		t.Errorf("a channel without codes: %v", err)
	}
}

// TestChannelTrier_secretStaysWithItsAddress: a page left open cannot send the password
// elsewhere.
func TestChannelTrier_secretStaysWithItsAddress(t *testing.T) {
	t.Parallel()
	reached := 0
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached++ }))
	t.Cleanup(elsewhere.Close)
	configured := matrix.Default()
	configured.Homeserver, configured.UserID, configured.Password = "https://hs.example", "@bot:example.org", "secret"
	trier := setup.ChannelTrier{Way: egress.New(egress.Options{AllowPrivate: true}), Now: time.Now}
	_, err := trier.Try(t.Context(), configured, "en", map[string]string{"matrix_homeserver": elsewhere.URL})
	if reached > 0 || !rejected(err) || !strings.Contains(err.Error(), "Something is missing") {
		t.Errorf("reached %d times, %v", reached, err)
	}
}
