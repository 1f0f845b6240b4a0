package everthread_test

import (
	"flag"
	"fmt"
	"html"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "draw the picture of the packages again")

const picture = "docs/images/packages.svg"

// layers of the picture, from the top: a package imports those below it, and of its own
// layer only what stands within its box.
var layers = []struct {
	title string
	has   func(room string) bool
}{
	{"program", func(r string) bool { return r == "cmd" }},
	{"adapters", func(r string) bool { return isAdapter(r) || r == "scheduler" }},
	{"engine", func(r string) bool { return r == "core/engine" }},
	{"features", func(r string) bool {
		return isFeature(r) && !isStore(r) && !isTier(r) && !isLeaf(r) && r != "core/engine"
	}},
	{"tier", isTier},
	{"leaves", isLeaf},
	{"vocabulary", func(r string) bool { return r == "core" }},
	{"stores", func(r string) bool { return isStore(r) || r == "migrations" || r == "configs" }},
}

// TestPicture holds the picture in docs/architecture.md to the imports.
// `go test . -run Picture -update` draws it again.
func TestPicture(t *testing.T) {
	t.Parallel()
	files, _, err := repository()
	if err != nil {
		t.Fatal(err)
	}
	drawn := draw(files)
	if *update {
		if err := os.WriteFile(picture, []byte(drawn), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	there, err := os.ReadFile(picture)
	if err != nil {
		t.Fatal(err)
	}
	if string(there) != drawn {
		t.Errorf("%s is not what the imports say: go test . -run Picture -update", picture)
	}
}

// imports returns which rooms each room of product code imports.
func imports(files []source) map[string][]string {
	out := map[string][]string{}
	for _, f := range files {
		room := roomOf(f.dir)
		if f.test || isSuite(f.dir) || isBeside(room) || room == "deploy" || strings.HasPrefix(room, "scripts") {
			continue
		}
		out[room] = append(out[room], "")
		for _, spec := range f.file.Imports {
			if ours, inside := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), module+"/"); inside &&
				roomOf(ours) != room {
				out[room] = append(out[room], roomOf(ours))
			}
		}
	}
	for room, all := range out {
		slices.Sort(all)
		out[room] = slices.Compact(all)[1:]
	}
	return out
}

// Measures of the picture in pixels.
const (
	pictureWidth = 1120
	titleWidth   = 104
	boxHeight    = 44
	boxGap       = 8
	letter       = 8 // of a name
)

// draw returns the picture: a row of boxes a layer, in each box the package and what it
// imports of the tier and the leaves.
func draw(files []source) string {
	all := imports(files)
	var rooms []string
	for room := range all {
		rooms = append(rooms, room)
	}
	slices.Sort(rooms)
	var b strings.Builder
	y := boxGap
	for _, layer := range layers {
		top, x := y, titleWidth
		for _, room := range rooms {
			if !layer.has(room) {
				continue
			}
			name, uses := strings.TrimPrefix(strings.TrimPrefix(room, "core/"), "adapters/"), below(room, all[room])
			width := 20 + max(letter*len(name), 6*len(uses))
			if x+width > pictureWidth-boxGap {
				x, y = titleWidth, y+boxHeight+boxGap
			}
			fmt.Fprintf(&b, "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"6\"/>\n", layer.title, x,
				y, width, boxHeight)
			fmt.Fprintf(&b, "<text x=\"%d\" y=\"%d\">%s</text>\n", x+10, y+19, html.EscapeString(name))
			fmt.Fprintf(&b, "<text class=\"uses\" x=\"%d\" y=\"%d\">%s</text>\n", x+10, y+35, html.EscapeString(uses))
			x += width + boxGap
		}
		fmt.Fprintf(&b, "<text class=\"title\" x=\"%d\" y=\"%d\">%s</text>\n", boxGap, top+26, layer.title)
		y += boxHeight + 3*boxGap
	}
	return fmt.Sprintf(pictureFrame, pictureWidth, y) + b.String() + "</svg>\n"
}

// below lists what a room imports of the tier and the leaves.
func below(room string, imported []string) string {
	switch room {
	case "cmd":
		return "everything"
	case "core/engine":
		return "features and what stands below"
	}
	var out []string
	for _, r := range imported {
		if isTier(r) || isLeaf(r) {
			out = append(out, strings.TrimPrefix(r, "core/"))
		}
	}
	return strings.Join(out, " ")
}

const pictureFrame = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="system-ui, sans-serif" font-size="13">
<title>The packages of Everthread: each imports packages below it only</title>
<style>
rect { fill: #f4f6f8; stroke: #b6c2cf } text { fill: #1f2933 } .uses, .title { fill: #66788a } .uses { font-size: 10px }
.engine { fill: #fff4d6 } .features { fill: #e8f1ff } .tier { fill: #e6f7ee } .leaves { fill: #f0fbe8 } .vocabulary { fill: #fde8ef }
@media (prefers-color-scheme: dark) {
rect { fill: #222b35; stroke: #46566a } text { fill: #e4e9ef } .uses, .title { fill: #9aabbd }
.engine { fill: #43391a } .features { fill: #1c2f4a } .tier { fill: #1a3a2b } .leaves { fill: #2a3a1d } .vocabulary { fill: #46222f } }
</style>
`
