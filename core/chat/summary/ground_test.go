package summary

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/everthread/everthread/core"
)

func TestGround_keepsWhatRestsOnMessages(t *testing.T) {
	t.Parallel()
	allowed := map[core.MessageID]bool{1: true, 2: true, 3: true}
	cases := []struct{ name, in, want string }{
		{"a whole summary",
			"## Summary\nThey met [#1].\n\n## Goals\n- Learn Go [#2]\n\n## Open loops\n* Who pays? [#3, #1]\n",
			"## Summary\nThey met.\n\n## Goals\n- Learn Go [#2]\n\n## Open loops\n- Who pays? [#3, #1]"},
		{"foreign references go", "## Summary\nx\n## Decisions\n- Red [#9][#2]\n- Blue [#99]\n",
			"## Summary\nx\n\n## Decisions\n- Red [#2]\n- Blue [?]"},
		{"what has no reference stays, marked once", "## Goals\n- a\n- b [?] [#77]\n- [?]\n- c [?].\n",
			"## Goals\n- a [?]\n- b [?]\n- c. [?]"},
		{"a reference in a reference", "## Goals\n- a [[?]#1] [[#2]?]\n", "## Goals\n- a [#2, #1]"},
		{"empty sections go, order is fixed", "## Next steps\n- Go [#1]\n## Goals\n\n## Summary\nx",
			"## Summary\nx\n\n## Next steps\n- Go [#1]"},
		{"a preamble goes", "Here it is:\n## Goals\n- a [#1]", "## Goals\n- a [#1]"},
		{"other spellings of headings", "# summary:\nx\n### **Open Loops**\n- y [#2]",
			"## Summary\nx\n\n## Open loops\n- y [#2]"},
		{"nothing", "\n\n", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := parse(c.in, allowed, nil)
			if diff := cmp.Diff(c.want, d.markdown()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCertain_leavesOutWhatRestsOnNothing(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"## Summary\nx\n\n## Goals\n- a [#1]\n- b [?]\n\n## Open loops\n- c [?]": "## Summary\nx\n\n## Goals\n- a [#1]",
		"## Goals\n- b [?]":              "",
		"## Summary\nwho? [?]\n\nsecond": "## Summary\nwho? [?]\n\nsecond",
	} {
		if diff := cmp.Diff(want, certain(in)); diff != "" {
			t.Error(diff)
		}
	}
}

func FuzzGround(f *testing.F) {
	f.Add("## Summary\nx\n## Goals\n- a [#1]")
	f.Add("- [#99999999999999999999]\n#")
	f.Fuzz(func(t *testing.T, text string) {
		g := parse(text, map[core.MessageID]bool{1: true}, nil)
		markdown := g.markdown()
		again := parse(markdown, map[core.MessageID]bool{1: true}, nil)
		if again.markdown() != markdown {
			t.Errorf("not stable: %q became %q", markdown, again.markdown())
		}
		if strings.Contains(markdown, "[#2]") && !strings.Contains(text, "[#2]") {
			t.Error("a reference was invented")
		}
	})
}
