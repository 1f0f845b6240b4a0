package summary

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/everthread/everthread/core"
)

func TestGroundKeepsOnlyWhatRestsOnMessages(t *testing.T) {
	t.Parallel()
	allowed := map[core.MessageID]bool{1: true, 2: true, 3: true}
	cases := []struct{ name, in, want string }{
		{"a whole summary", "## Summary\nThey met [#1].\n\n## Goals\n- Learn Go [#2]\n\n## Open loops\n* Who pays? [#3, #1]\n",
			"## Summary\nThey met.\n\n## Goals\n- Learn Go [#2]\n\n## Open loops\n- Who pays? [#3, #1]"},
		{"foreign references go", "## Summary\nx\n## Decisions\n- Red [#9][#2]\n- Blue [#99]\n", "## Summary\nx\n\n## Decisions\n- Red [#2]"},
		{"empty sections go, order is fixed", "## Next steps\n- Go [#1]\n## Goals\n\n## Summary\nx", "## Summary\nx\n\n## Next steps\n- Go [#1]"},
		{"a preamble is narrative", "Here it is:\n## Goals\n- a [#1]", "## Summary\nHere it is:\n\n## Goals\n- a [#1]"},
		{"other spellings of headings", "# summary:\nx\n### **Open Loops**\n- y [#2]", "## Summary\nx\n\n## Open loops\n- y [#2]"},
		{"nothing", "\n\n", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, ground(c.in, allowed).markdown); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestGroundCountsAndMarks(t *testing.T) {
	t.Parallel()
	g := ground("## Summary\nx\n## Goals\n- a\n- b [#7]\n", map[core.MessageID]bool{1: true})
	if g.dropped != 2 || g.bullets != 0 || !g.ungrounded || g.markdown != "## Summary\nx" {
		t.Errorf("got %+v", g)
	}
	g = ground("## Summary\nx\n## Open loops\n- Who? [#1]\n", map[core.MessageID]bool{1: true})
	if g.ungrounded || len(g.loops) != 1 || g.loops[0] != "Who?" || g.sources[0][0] != 1 {
		t.Errorf("got %+v", g)
	}
}

func FuzzGround(f *testing.F) {
	f.Add("## Summary\nx\n## Goals\n- a [#1]")
	f.Add("- [#99999999999999999999]\n#")
	f.Fuzz(func(t *testing.T, text string) {
		g := ground(text, map[core.MessageID]bool{1: true})
		again := ground(g.markdown, map[core.MessageID]bool{1: true})
		if again.markdown != g.markdown {
			t.Errorf("not stable: %q became %q", g.markdown, again.markdown)
		}
		if strings.Contains(g.markdown, "[#2]") && !strings.Contains(text, "[#2]") {
			t.Error("a reference came from nowhere")
		}
	})
}
