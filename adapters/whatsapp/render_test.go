package whatsapp

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/everthread/everthread/adapters/whatsapp/graph"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/text/markup"
)

// A part of the announced length can always be sent, however much markup it contains and
// even if it is marked as a repeat.
func TestRender_partsAlwaysFit(t *testing.T) {
	t.Parallel()
	piece := rapid.SampledFrom([]string{"**b** ", "*i* ", "`c` ", "~~s~~ ",
		"[l](https://a.example/a/long/path?with=a&query=that&goes=on) ", "# h\n\n", "> q\n", "🙂", "word ", "\n\n", "2*3*4 "})
	c := open(t, nil, Options{}).(*Channel).Capabilities()
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SliceOfN(piece, 1, 30).Draw(t, "pieces")
		md := strings.Repeat(strings.Join(pieces, ""), rapid.IntRange(1, 60).Draw(t, "times"))
		for _, part := range markup.Split(markup.Parse(md), c.MaxText, c.Length) {
			p := part.Part()
			p.Text += "\n\n(may be a repeat)"
			got, err := graph.Render("whatsapp", p, maxBody)
			if err != nil || markup.UTF16Len(got) > maxBody {
				t.Fatalf("%d units: %v", markup.UTF16Len(got), err)
			}
		}
	})
}

func TestRender_refuses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", " \n", strings.Repeat("x", maxBody+1), strings.Repeat("🙂", maxBody/2+1)} {
		if _, err := graph.Render("whatsapp", core.Part{Text: text}, maxBody); classOfError(err, nil) != "permanent" {
			t.Errorf("%d bytes: %v", len(text), err)
		}
	}
}
