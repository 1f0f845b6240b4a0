package whatsapp

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"

	"github.com/everthread/everthread/core/channel"
)

func TestGuide_triesANumber(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer right" || r.URL.String() != "/v25.0/77?fields=id" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		_, _ = w.Write([]byte("{}"))
	}))
	t.Cleanup(s.Close)
	c := Default()
	host := channel.Host{Client: func(...string) *http.Client { return &http.Client{} },
		Rand: strings.NewReader(strings.Repeat("k", 12))}
	c.PhoneNumberID, c.AccessToken, c.AppSecret, c.APIURL = "77", "right", "s", s.URL
	tried, err := c.Guide("fr", host).Try(t.Context())
	if err != nil || string(c.VerifyToken) != strings.Repeat("6b", 12) ||
		!strings.Contains(tried.Said, string(c.VerifyToken)) || tried.Comment != "docs/whatsapp.md" {
		t.Errorf("got %+v, %v", tried, err)
	}
	c.AccessToken = "sk-secret-0123456789"
	var f *channel.Fault
	for _, language := range []string{"en", "fr"} {
		if _, err := c.Guide(language, host).Try(t.Context()); !errors.As(err, &f) ||
			f.Text != say(language).NotFound || !strings.Contains(err.Error(), "(400 Bad Request)") ||
			strings.Contains(err.Error(), "sk-") {
			t.Errorf("got %v", err)
		}
	}
	c.APIURL = "http://127.0.0.1:1"
	var away *channel.Unreached
	if _, err := c.Guide("en", host).Try(t.Context()); !errors.As(err, &away) || !errors.Is(err, syscall.ECONNREFUSED) ||
		strings.Contains(err.Error(), "sk-") {
		t.Errorf("no Meta: %v", err)
	}
}
