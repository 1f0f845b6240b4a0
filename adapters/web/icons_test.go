package web

import (
	"bytes"
	"flag"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/everthread/everthread/internal/fulltest"
)

var drawIcons = flag.Bool("update", false, "draw the icons again")

// TestIcons_drawnFromTheOne checks that the icons of the app match icon.svg; -update redraws
// them.
func TestIcons_drawnFromTheOne(t *testing.T) {
	t.Parallel()
	thread, dot := readIcon(t)
	for name, kind := range map[string]struct {
		size  int
		width float64 // of the thread, as a share of the icon's width
		round float64 // radius of corners, as a share of the icon's width
	}{"icon-192.png": {192, .74, .22}, "icon-512.png": {512, .74, .22}, "icon-180.png": {180, .70, 0},
		"icon-maskable.png": {512, .58, 0}, "../../../deploy/icon.png": {256, .66, 0},
		"../../../deploy/home-assistant/icon.png": {128, .74, .22}, "../../../deploy/home-assistant/logo.png": {256, .74, .22}} {
		if kind.size > fulltest.Size(192, 512) && !*drawIcons {
			continue
		}
		drawn := drawIcon(thread, dot, kind.size, kind.width, kind.round)
		path := filepath.Join("static", name)
		if *drawIcons {
			var b bytes.Buffer
			if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, drawn); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		got, err := png.Decode(bytes.NewReader(b))
		if err != nil || got.Bounds() != drawn.Bounds() || len(b) > 20<<10 {
			t.Fatalf("%s: %v, %v, %d bytes", name, err, got, len(b))
		}
		for y := range kind.size {
			for x := range kind.size {
				if a, b := color.NRGBAModel.Convert(got.At(x, y)), drawn.At(x, y); a != b {
					t.Fatalf("%s: %v at %d, %d, want %v; -update draws it again", name, a, x, y, b)
				}
			}
		}
	}
}

type point struct{ x, y float64 }

// readIcon returns the points of the thread and the dot at its end.
func readIcon(t *testing.T) (thread []point, dot point) {
	t.Helper()
	b, err := os.ReadFile("static/icon.svg")
	if err != nil {
		t.Fatal(err)
	}
	path := regexp.MustCompile(`d="M([^c]+)c([^"]+)"`).FindSubmatch(b)
	circle := regexp.MustCompile(`cx="(\d+)" cy="(\d+)"`).FindSubmatch(b)
	if path == nil || circle == nil {
		t.Fatalf("this test cannot read %s", b)
	}
	at, n, c := numbers(path[1]), numbers(path[2]), append(numbers(circle[1]), numbers(circle[2])...)
	p := point{at[0], at[1]}
	for ; len(n) >= 6; n = n[6:] {
		const steps = 24
		for i := range steps + 1 {
			u := float64(i) / steps
			bend := func(b, c, d float64) float64 { return 3*u*(1-u)*(1-u)*b + 3*u*u*(1-u)*c + u*u*u*d }
			thread = append(thread, point{p.x + bend(n[0], n[2], n[4]), p.y + bend(n[1], n[3], n[5])})
		}
		p = point{p.x + n[4], p.y + n[5]}
	}
	return thread, point{c[0], c[1]}
}

func numbers(b []byte) (out []float64) {
	for _, s := range regexp.MustCompile(`-?[\d.]+`).FindAll(b, -1) {
		n, err := strconv.ParseFloat(string(s), 64)
		if err != nil {
			panic(err)
		}
		out = append(out, n)
	}
	return out
}

// drawIcon draws the thread in the colour of paper on the accent.
func drawIcon(thread []point, dot point, size int, width, round float64) *image.NRGBA {
	out := image.NewNRGBA(image.Rect(0, 0, size, size))
	scale := 28.6 / (width * float64(size)) // drawing units per pixel
	covers := func(distance float64) float64 { return math.Round(16*min(max(.5-distance/scale, 0), 1)) / 16 }
	corner := round * float64(size)
	for y := range size {
		for x := range size {
			px, py := float64(x)+.5-float64(size)/2, float64(y)+.5-float64(size)/2
			p := point{16.6 + px*scale, 16 + py*scale}
			near := math.Hypot(p.x-dot.x, p.y-dot.y) - 1.3
			for i := range len(thread) - 1 {
				near = min(near, distance(p, thread[i], thread[i+1])-1.3)
			}
			mix := func(a, b uint8) uint8 { return uint8(math.Round(float64(a) + (float64(b)-float64(a))*covers(near))) }
			c := color.NRGBA{mix(0x14, 0xff), mix(0x67, 0xfe), mix(0x5a, 0xfb), 255}
			edge := float64(size)/2 - corner
			if beyond := math.Hypot(max(math.Abs(px)-edge, 0), max(math.Abs(py)-edge, 0)) - corner; round > 0 {
				c.A = uint8(math.Round(255 * min(max(.5-beyond, 0), 1)))
			}
			if c.A == 0 {
				c = color.NRGBA{}
			}
			out.SetNRGBA(x, y, c)
		}
	}
	return out
}

// distance returns the distance of a point from a line between two others.
func distance(p, a, b point) float64 {
	dx, dy := b.x-a.x, b.y-a.y
	along := 0.0
	if length := dx*dx + dy*dy; length > 0 {
		along = min(max(((p.x-a.x)*dx+(p.y-a.y)*dy)/length, 0), 1)
	}
	return math.Hypot(p.x-a.x-along*dx, p.y-a.y-along*dy)
}
