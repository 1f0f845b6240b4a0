//go:build e2e

package e2etest

import (
	"github.com/chromedp/chromedp"
)

// Poke clicks on everything in messages, as a person may do by chance, but follows no
// link.
func (p *Tab) Poke() {
	p.T.Helper()
	Js[chromedp.Void](p, `(() => {
		document.querySelectorAll('details').forEach((x) => { x.open = true; });
		document.querySelectorAll('main *').forEach((x) => { for (const kind of ['mouseover', 'focus', 'mouseenter', 'pointerover', 'toggle']) x.dispatchEvent(new Event(kind)); });
		document.querySelectorAll('.prose a').forEach((x) => { if (/^(javascript|data|vbscript):/i.test(x.href)) console.error('a link leads to ' + x.href); });
		document.querySelectorAll('main script, main iframe, main object, main embed, main base, main meta, main style, main link').forEach((x) => console.error('there is a ' + x.outerHTML));
	})()`)
}
