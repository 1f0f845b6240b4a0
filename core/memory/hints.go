package memory

import (
	"fmt"
	"strings"

	"github.com/everthread/everthread/core"
)

// Bounds of the guidance.
const (
	hintBytes  = 1 << 10
	hintThemes = 10
)

const guidance = `# Memory
Lasting facts, preferences and instructions of the person are kept in memory. Nothing of it is shown here: look it up.
- memory_search finds items by words; the query * or an empty one returns the newest.
- It returns active items; status "any" includes archived ones.
- memory_get shows one item in full.
- memory_add keeps one statement; without a theme it goes to general.
- To correct an item, add the right one and memory_archive the wrong one.
`

// Unavailable is the guidance while memory cannot be read.
const Unavailable = "# Memory\nMemory tools are unavailable at the moment: proceed without them, and say so if it matters."

// Hints returns the part of a prompt that says how memory is used, with the ten
// themes of most active items and how many these are, and never content. It is
// at most 1,024 bytes: a list that does not fit is cut and points to
// memory_list_themes. err, if not nil, is why themes cannot be had.
func Hints(themes []core.Theme, err error) string {
	if err != nil {
		return Unavailable
	}
	const title, more = "Themes (active items): ", "; memory_list_themes lists all"
	var list strings.Builder
	shown, active := 0, 0
	for _, t := range themes {
		if t.Active <= 0 {
			continue
		}
		active++
		entry := fmt.Sprintf("%s (%d)", t.Slug, t.Active)
		if shown > 0 {
			entry = ", " + entry
		}
		if shown == active-1 && shown < hintThemes && len(guidance)+len(title)+list.Len()+len(entry)+len(more)+1 <= hintBytes {
			list.WriteString(entry)
			shown++
		}
	}
	switch {
	case active == 0:
		return guidance + "Memory is empty so far."
	case shown < active:
		return guidance + title + list.String() + more + "."
	}
	return guidance + title + list.String() + "."
}
