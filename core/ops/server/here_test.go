package server

import (
	"net/http/httptest"
	"testing"
)

func TestHere_onlyThisMachine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		peer, header string
		want         bool
	}{
		{"127.0.0.1:4000", "", true}, {"127.8.9.1:4000", "", true}, {"[::1]:4000", "", true},
		{"[::ffff:127.0.0.1]:4000", "", true},
		{"127.0.0.1:4000", "Accept", true}, {"127.0.0.1:4000", "X-Forwarded-For", false},
		{"127.0.0.1:4000", "Forwarded", false}, {"[::1]:4000", "X-Real-IP", false}, {"127.0.0.1:4000", "Via", false},
		{"10.0.0.1:4000", "", false}, {"192.0.2.1:80", "", false}, {"[fe80::1%eth0]:4000", "", false},
		{"@", "", false}, {"", "", false},
	} {
		r := httptest.NewRequest("GET", "/metrics", nil)
		if r.RemoteAddr = c.peer; c.header != "" {
			r.Header.Set(c.header, "127.0.0.1")
		}
		if got := Here(r); got != c.want {
			t.Errorf("%s with %q: %v", c.peer, c.header, got)
		}
	}
}
