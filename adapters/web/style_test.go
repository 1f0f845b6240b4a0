package web

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestColours_canBeRead checks that texts have a contrast of at least 4.5 to 1 in both themes.
func TestColours_canBeRead(t *testing.T) {
	t.Parallel()
	b, err := files.ReadFile("static/app.css")
	if err != nil {
		t.Fatal(err)
	}
	light := tokens(t, string(b), ":root {")
	auto := tokens(t, string(b), `:root:not([data-theme="light"]) {`)
	dark := tokens(t, string(b), `:root[data-theme="dark"] {`)
	for name, value := range dark {
		if auto[name] != value {
			t.Errorf("--%s is %s by choice and %s by the system", name, value, auto[name])
		}
	}
	for theme, c := range map[string]map[string]string{"light": light, "dark": dark} {
		for _, pair := range [][2]string{{"ink", "paper"}, {"ink", "surface"}, {"ink", "sunken"}, {"ink", "tint"},
			{"ink", "mark"}, {"soft", "paper"}, {"soft", "surface"}, {"soft", "tint"}, {"accent", "paper"},
			{"accent", "surface"}, {"accent", "tint"}, {"accent-ink", "accent"}, {"bad", "paper"}, {"bad", "surface"},
			{"bad", "bad-tint"}, {"warn", "paper"}, {"warn", "surface"}, {"warn", "warn-tint"},
			{"paper", "ink"}, {"paper", "bad"}} {
			if got := contrast(t, c[pair[0]], c[pair[1]]); got < 4.5 {
				t.Errorf("%s: %s on %s has %.2f", theme, pair[0], pair[1], got)
			}
		}
	}
}

// tokens returns the colours that a rule defines.
func tokens(t *testing.T, css, rule string) map[string]string {
	t.Helper()
	_, rest, ok := strings.Cut(css, rule)
	if !ok {
		t.Fatalf("no rule %s", rule)
	}
	rest, _, _ = strings.Cut(rest, "}")
	out := map[string]string{}
	for _, m := range regexp.MustCompile(`--([a-z-]+): (#[0-9a-f]{3,6});`).FindAllStringSubmatch(rest, -1) {
		out[m[1]] = m[2]
	}
	return out
}

// contrast returns the contrast ratio of WCAG 2.
func contrast(t *testing.T, a, b string) float64 {
	x, y := luminance(t, a), luminance(t, b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

func luminance(t *testing.T, colour string) float64 {
	t.Helper()
	hex := strings.TrimPrefix(colour, "#")
	if len(hex) == 3 {
		hex = string([]byte{hex[0], hex[0], hex[1], hex[1], hex[2], hex[2]})
	}
	out := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		n, err := strconv.ParseUint(hex[2*i:2*i+2], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		x := float64(n) / 255
		if x <= 0.04045 {
			x /= 12.92
		} else {
			x = math.Pow((x+0.055)/1.055, 2.4)
		}
		out += weight * x
	}
	return out
}
