//go:build e2e

package web

import (
	"testing"

	"github.com/everthread/everthread/e2e/e2etest"
)

// Home Assistant shows the page in a frame of its side bar. There a person signs in, writes and is answered.
func TestIngress_inAFrameOfHomeAssistant(t *testing.T) {
	t.Parallel()
	w := e2etest.NewTown(t, "")
	w.Env = append(w.Env, "EVERTHREAD_HTTP_TRUSTED_PROXIES=127.0.0.1", "EVERTHREAD_SETUP_CODE=ALPHA-BRAVO-2468")
	g := w.Start()
	net := g.NewRelay(t)
	net.Below(t, "/api/hassio_ingress/a1B2_c-3")
	p := g.NewTab(t).Allow("401")
	p.Base = net.URL
	p.Open("/dashboard")
	const inside = "frames[0].document.querySelector"
	p.Comes(inside + "('#start-code')")
	e2etest.Js[bool](p, inside+"('#start-code').value = 'ALPHA-BRAVO-2468', "+inside+"('main .button.primary').click(), true")
	p.Comes("frames[0].location.pathname === '/api/hassio_ingress/a1B2_c-3/setup/model'")
	e2etest.Js[bool](p, "frames[0].document.querySelector('.brand').click(), true")
	p.Comes(inside + "('#write')")
	e2etest.Js[bool](p, inside+"('#text').value = 'written in a frame', "+inside+"('#send').click(), true")
	p.Comes(inside + "('.entry.agent .prose')?.innerText.includes('written in a frame')")
}
