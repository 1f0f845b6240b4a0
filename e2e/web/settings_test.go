//go:build e2e

package web

import (
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/everthread/everthread/e2e/e2etest"
)

// Name, zone and language share one Save, the browser's zone is suggested, and the owner
// checks a channel and sees the stored data without a terminal.
func TestSettings_ownerSetsThingsUp(t *testing.T) {
	t.Parallel()
	w := e2etest.NewTown(t, "")
	g := w.Start()
	p := g.NewTab(t)
	p.Do(e2etest.Command(emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "Asia/Tokyo"}))
	p.Open("/signin?code=" + g.WebCode())
	p.Click("#clocks label:nth-of-type(2)") // the gateway's zone, and then another
	p.Click("#signin button")
	p.Comes("document.querySelector('#write')")
	p.Open("/settings")
	p.Comes("document.querySelector('#zones option').value === 'Asia/Tokyo'")
	p.Fill("#name", "Ada")
	p.Press("#profile", "Use this browser's: Asia/Tokyo")
	p.Do(chromedp.SetValue(chromedp.CSS("#language"), "fr"))
	p.Press("#profile form", "Save")
	p.Sees("#toast", "(Asia/Tokyo)")
	if got := w.Ledger().Lines(`SELECT name || settings FROM users WHERE id > 0`); !strings.HasPrefix(got[0], "Ada") ||
		!strings.Contains(got[0], `"Asia/Tokyo"`) || !strings.Contains(got[0], `"fr"`) {
		t.Errorf("got %s", got)
	}
	p.Open("/admin/kept")
	p.Sees("#kept", "La base de données occupe")
	p.Sees("#kept", "sauvegardes")
	p.Open("/admin/channels")
	p.Press("#channels", "Vérifier ce canal")
	p.Sees("h1", "Configuration")
	p.Sees(".finding", "telegram")
}
