package main

import (
	"cmp"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/everthread/everthread/adapters/api"
	"github.com/everthread/everthread/adapters/openai"
	"github.com/everthread/everthread/adapters/web"
	"github.com/everthread/everthread/adapters/web/chat"
	"github.com/everthread/everthread/adapters/web/settings"
	"github.com/everthread/everthread/core/chat/command"
	"github.com/everthread/everthread/core/trust"
)

var updateNeeds = flag.Bool("update", false, "write what the test finds into the documents")

// TestSecurityTable: docs/security.md shows the needs that the code has, and everything has
// one.
func TestSecurityTable(t *testing.T) {
	t.Parallel()
	rooms := []web.Room{chat.New(chat.Options{}),
		settings.New(settings.Options{Memory: struct{ settings.Memory }{},
			Standing: struct{ settings.Standing }{}, Embeddings: ownEmbeddings{}})}
	all := slices.Concat(command.Needs(), web.Needs(rooms...), api.Needs(), openai.Needs())
	slices.SortStableFunc(all, func(a, b trust.Need) int {
		return cmp.Or(slices.Index(trust.Known(), a.Capability)-slices.Index(trust.Known(), b.Capability),
			cmp.Compare(a.Door, b.Door))
	})
	by := map[string][]string{}
	var rows []string
	for _, n := range all {
		if n.Capability == trust.Open && n.Door != trust.DoorPage || n.Capability != trust.Open &&
			!slices.Contains(trust.Known(), n.Capability) {
			t.Errorf("%s %s needs %q", n.Door, n.What, n.Capability)
		}
		row := trust.Word(n.Capability) + "|" + string(n.Door)
		if by[row] == nil {
			rows = append(rows, row)
		}
		by[row] = append(by[row], "`"+n.What+"`")
	}
	var b strings.Builder
	b.WriteString("\n| capability | door | what |\n|---|---|---|\n")
	for _, row := range rows {
		capability, door, _ := strings.Cut(row, "|")
		list := by[row]
		slices.Sort(list)
		b.WriteString("| " + capability + " | " + door + " | " + strings.Join(list, ", ") + " |\n")
	}
	for _, standing := range []string{"members", "admins"} {
		var list []string
		for _, n := range command.Needs() {
			if command.GroupStanding(strings.TrimPrefix(n.What, "/")) == standing {
				list = append(list, "`"+n.What+"`")
			}
		}
		slices.Sort(list)
		b.WriteString("| " + standing + " of a group | command | " + strings.Join(list, ", ") + " |\n")
	}
	b.WriteString("\n")
	const path, begin, end = "../../docs/security.md", "-update` -->\n", "<!-- end of needs -->"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(text), begin)
	shown, after, found := strings.Cut(rest, end)
	if !found {
		t.Fatal("docs/security.md has no place for the table")
	}
	if *updateNeeds {
		if err := os.WriteFile(path, []byte(before+begin+b.String()+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if shown != b.String() {
		t.Error("docs/security.md does not say what the code needs: go test ./cmd/everthread -run TestSecurityTable -update")
	}
}

// ownEmbeddings are embeddings that each user may configure.
type ownEmbeddings struct{ settings.Embeddings }

func (ownEmbeddings) System() string { return "" }
