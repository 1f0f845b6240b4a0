//go:build e2e

package e2etest

import (
	"encoding/json"
	"regexp"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// WebLink returns the code of the link that /web brings in a chat.
func (w *Week) WebLink() string {
	w.T.Helper()
	m := regexp.MustCompile(`/signin\?code=([A-Z0-9]+)`).FindStringSubmatch(w.Ask("/web").Text)
	if m == nil {
		w.T.Fatal("there is no link")
	}
	return m[1]
}

// fault is a defect of a page.
type fault struct {
	ID, Impact, Help string
	Nodes            []struct {
		HTML    string
		Summary string `json:"failureSummary"`
		Any     []struct {
			Related []struct{ HTML string } `json:"relatedNodes"` // what covers it, for one that is too small
		}
	}
}

// Check runs axe-core on a page.
func (p *Tab) Check(axe string) []fault {
	p.T.Helper()
	if !p.Is("window.axe") {
		Js[chromedp.Void](p, axe)
	}
	width := Js[int64](p, "innerWidth")
	p.Do(size(width, p.height())) // a target that is half below the edge does not count as small
	p.Comes("!document.getElementById('earlier')")
	p.Do(size(width, p.height())) // as high as the earlier messages, which came into sight, have made the page
	defer p.Do(size(width, 800))
	out := Js[string](p,
		`axe.run(document, {resultTypes: ['violations'], runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']}).then((r) => JSON.stringify(r.violations))`)
	var all []fault
	Must(p.T, json.Unmarshal([]byte(out), &all))
	return all
}

// Picture returns a screenshot of a whole page.
func (p *Tab) Picture(width int64) []byte {
	p.T.Helper()
	p.Do(size(width, min(3000, p.height())))
	out, err := chromedp.Run(p.Ctx, chromedp.CaptureScreenshot())
	Must(p.T, err)
	p.Do(size(width, 800))
	return out
}

// height returns the height of a page.
func (p *Tab) height() int64 {
	return max(800, Js[int64](p, "document.documentElement.scrollHeight"))
}

func size(width, height int64) action {
	return Command(emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width,
		Height: height, DeviceScaleFactor: 1, Mobile: width < 600})
}
