package office

import (
	"fmt"
	"html/template"
	"strings"

	"rsc.io/qr"
)

// qrSVG returns a text as a QR code.
func qrSVG(text string) (template.HTML, error) {
	code, err := qr.Encode(text, qr.M)
	if err != nil {
		return "", fmt.Errorf("draw a QR code: %w", err)
	}
	const quiet = 4
	side := code.Size + 2*quiet
	var b strings.Builder
	fmt.Fprintf(&b,
		`<svg class="qr" viewBox="0 0 %d %d" width="%d" height="%d" shape-rendering="crispEdges" aria-hidden="true"><path class="qr-paper" d="M0 0h%dv%dH0z"/><path class="qr-ink" d="`, side, side, side*4, side*4, side, side)
	for y := range code.Size {
		for x := range code.Size {
			if code.Black(x, y) {
				fmt.Fprintf(&b, "M%d %dh1v1h-1z", x+quiet, y+quiet)
			}
		}
	}
	b.WriteString(`"/></svg>`)
	return template.HTML(b.String()), nil //nolint:gosec // numbers only
}
