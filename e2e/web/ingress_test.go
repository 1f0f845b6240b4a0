//go:build e2e

package web

import (
	"testing"
)

// Home Assistant shows the page in a frame of its side bar. There the way from nothing to a reminder that rings is the
// same.
func TestIngress_inAFrameOfHomeAssistant(t *testing.T) {
	t.Parallel()
	b := newBeginner(t, "home-assistant-", "EVERTHREAD_HTTP_TRUSTED_PROXIES=127.0.0.1")
	net := b.g.NewRelay(t)
	b.Root = "/api/hassio_ingress/a1B2_c-3"
	net.Below(t, b.Root)
	b.Base, b.page, b.Framed = net.URL, "/dashboard", true
	b.begins()
	b.talks()
}
