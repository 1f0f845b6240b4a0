package document

import (
	"strconv"
	"strings"
)

// pictures are the characters of the fonts of signs: boxes, ticks and arrows.
var pictures = map[string]map[int64]string{
	"wingdings": {0x6F: "☐", 0x6E: "■", 0x71: "☐", 0x72: "☐", 0xA8: "☐", 0x78: "☒", 0xFB: "✗", 0xFC: "✓", 0xFD: "☒",
		0xFE: "☑",
		0xE0: "→", 0xDF: "←", 0xE8: "→", 0xE1: "↑", 0xE2: "↓", 0x4A: "☺", 0x4C: "☹", 0x28: "☎", 0x2A: "✉", 0xA7: "•",
		0x6C: "•", 0x9F: "•", 0xA1: "○", 0xD8: "➢", 0x76: "❖", 0x46: "☞"},
	"wingdings 2": {0x4F: "✗", 0x50: "✓", 0x51: "☒", 0x52: "☑", 0x53: "☒", 0x54: "☒", 0xA3: "☐", 0x2A: "☐",
		0x30: "☐"},
	"webdings": {0x61: "✓", 0x72: "✗", 0x63: "☐", 0x67: "■"},
	"symbol": {0xA0: "€", 0xA2: "′", 0xA3: "≤", 0xA5: "∞", 0xAB: "↔", 0xAC: "←", 0xAD: "↑", 0xAE: "→", 0xAF: "↓",
		0xB0: "°",
		0xB1: "±", 0xB2: "″", 0xB3: "≥", 0xB4: "×", 0xB5: "∝", 0xB6: "∂", 0xB7: "•", 0xB8: "÷", 0xB9: "≠", 0xBA: "≡",
		0xBB: "≈",
		0xBC: "…", 0xC5: "⊕", 0xC6: "∅", 0xC7: "∩", 0xC8: "∪", 0xCE: "∈", 0xD0: "∠", 0xD1: "∇", 0xD6: "√", 0xD7: "⋅",
		0xDE: "⇒",
		0xE5: "∑", 0xF2: "∫", 0x2D: "−", 0x22: "∀", 0x24: "∃"},
}

// greek are the letters of the font Symbol from A to Z and a to z.
const greek = "ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖαβχδεφγηιϕκλμνοπθρστυϖωξψζ"

// symbol returns a character of a font by its hexadecimal code. One that Unicode does not have here is said in words.
func symbol(font, code string) string {
	n, err := strconv.ParseInt(code, 16, 32)
	if err != nil {
		return ""
	}
	private := n >= 0xF000 && n <= 0xF0FF // the fonts of signs stand there
	if private {
		n -= 0xF000
	}
	font = strings.ToLower(strings.TrimSpace(font))
	if s := pictures[font][n]; s != "" {
		return s
	}
	switch letter := n | 0x20; {
	case font == "symbol" && letter >= 'a' && letter <= 'z':
		at := letter - 'a'
		if n >= 'a' {
			at += 26
		}
		return string([]rune(greek)[at])
	case n <= ' ' || private && pictures[font] == nil && n > 0x7E,
		pictures[font] != nil && (font != "symbol" || n > 0x7E):
		return "[symbol]"
	}
	return string(rune(n)) //nolint:gosec // it has at most 31 bits
}
