package client_test

import (
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/everthread/everthread/core/accounts/client"
)

func TestProxies_rootAndFrame(t *testing.T) {
	t.Parallel()
	const proxy, stranger = "10.0.0.9:80", "192.0.2.1:80"
	proxies, err := client.ParseProxies([]string{"10.0.0.0/8"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		peer, public, header, value string
		root                        string
		framed                      bool
	}{
		{proxy, "https://a.example", "", "", "", false},
		{proxy, "https://a.example/", "", "", "", false},
		{stranger, "https://a.example/e/", "", "", "/e", false},
		{proxy, "https://a.example/e", "X-Forwarded-Prefix", "/f/g/", "/f/g", false},
		{proxy, "https://a.example/e", "X-Forwarded-Prefix", "/", "", false},
		{proxy, "https://a.example", "X-Forwarded-Prefix", "/f, /g", "/f", false},
		{proxy, "https://a.example", "X-Ingress-Path", "/api/hassio_ingress/a-B_1", "/api/hassio_ingress/a-B_1", true},
		{stranger, "https://a.example", "X-Ingress-Path", "/api/hassio_ingress/a", "", false},
		{stranger, "https://a.example", "X-Forwarded-Prefix", "/f", "", false},
		{proxy, "https://a.example/e", "X-Forwarded-Prefix", `/"><script>`, "/e", false},
		{proxy, "https://a.example/e", "X-Forwarded-Prefix", "//evil.example", "/e", false},
		{proxy, "https://a.example/e", "X-Forwarded-Prefix", "/a;Domain=x", "/e", false},
		{proxy, "https://a.example/e", "X-Forwarded-Prefix", "f", "/e", false},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = c.peer
		if c.header != "" {
			r.Header.Set(c.header, c.value)
		}
		public, err := url.Parse(c.public)
		if err != nil {
			t.Fatal(err)
		}
		if root, framed := proxies.Root(r, public), proxies.Framed(r); root != c.root || framed != c.framed {
			t.Errorf("%+v: root %q, framed %v", c, root, framed)
		}
	}
}
