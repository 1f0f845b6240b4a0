package terminal

import (
	"fmt"
	"strings"

	"rsc.io/qr"
)

// QR draws a text as a QR code, two of its rows a line, dark on light whatever the
// terminal's colours are.
func QR(text string) (string, error) {
	code, err := qr.Encode(text, qr.L)
	if err != nil {
		return "", fmt.Errorf("draw the link: %w", err)
	}
	const quiet = 2
	var b strings.Builder
	for y := -quiet; y < code.Size+quiet; y += 2 {
		b.WriteString("\x1b[30;107m")
		for x := -quiet; x < code.Size+quiet; x++ {
			b.WriteString(half(code.Black(x, y), code.Black(x, y+1)))
		}
		b.WriteString("\x1b[0m\n")
	}
	return b.String(), nil
}

// half returns a character whose halves are dark or not.
func half(upper, lower bool) string {
	switch {
	case upper && lower:
		return "█"
	case upper:
		return "▀"
	case lower:
		return "▄"
	}
	return " "
}
