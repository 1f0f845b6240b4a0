package items_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/memory/items"
)

func themes(n int, slug string) []core.Theme {
	var out []core.Theme
	for i := range n {
		out = append(out, core.Theme{Slug: fmt.Sprintf("%s%d", slug, i), Name: "never shown",
			Description: "never shown", Active: 100 - i})
	}
	return out
}

func TestHints(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for _, c := range []struct {
		name   string
		themes []core.Theme
		err    error
	}{
		{"some themes", append(themes(3, "work-"), core.Theme{Slug: "archived", Active: 0}), nil},
		{"none", nil, nil},
		{"twelve", themes(12, "t"), nil},
		{"long ones", themes(10, strings.Repeat("x", 60)), nil},
		{"memory is down", themes(3, "t"), errors.New("connection refused")},
	} {
		got := items.Hints(c.themes, c.err)
		fmt.Fprintf(&b, "==== %s: %d bytes\n%s\n", c.name, len(got), got)
	}
	golden(t, "hints.txt", b.String())
}

func TestHints_staySmall(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		all := themes(rapid.IntRange(0, 30).Draw(r, "n"), rapid.StringMatching(`[a-zé仕-]{1,60}`).Draw(r, "slug"))
		got := items.Hints(all, nil)
		if len(got) > 1024 || strings.Contains(got, "never shown") || strings.Count(got, "\n") > 9 {
			r.Fatalf("%d bytes: %s", len(got), got)
		}
	})
}
