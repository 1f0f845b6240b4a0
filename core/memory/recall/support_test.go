package recall

import (
	"bufio"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/everthread/everthread/core"
)

// supported reads testdata/support.txt: days with messages, claims about them, and for each claim
// the messages of which one must be found, or none.
func supported(t *testing.T) (days [][]core.Message, claims [][][2]string) {
	t.Helper()
	f, err := os.Open("testdata/support.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		kind, text, _ := strings.Cut(lines.Text(), " ")
		last := len(days) - 1
		switch kind {
		case "##":
			days, claims = append(days, nil), append(claims, nil)
		case ">", "<":
			role := map[string]core.Role{">": core.RoleUser, "<": core.RoleAssistant}[kind]
			days[last] = append(days[last], core.Message{ID: core.MessageID(len(days[last]) + 1), Role: role, Text: text,
				Tokens: len(strings.Fields(text)) + 1})
		case "=":
			refs, claim, _ := strings.Cut(text, " ")
			claims[last] = append(claims[last], [2]string{refs, claim})
		}
	}
	return days, claims
}

func TestSupport_tracesOnlyWhatWasSaid(t *testing.T) {
	t.Parallel()
	s := &Searcher{Analyzer: newAnalyzer(t, "en", "fr", "de", "es"), Settings: Default()}
	days, claims := supported(t)
	missed, invented, all := 0, 0, 0
	for i, said := range days {
		for _, c := range claims[i] {
			all++
			got := s.Support([]string{c[1]}, said)[0]
			if c[0] == "-" {
				if got != nil {
					invented++
					t.Logf("day %d: %q was traced to %v", i+1, c[1], got)
				}
				continue
			}
			if !slices.ContainsFunc(strings.Split(c[0], ","), func(ref string) bool {
				id, _ := strconv.Atoi(ref)
				return slices.Contains(got, core.MessageID(id))
			}) {
				missed++
				t.Logf("day %d: %q was traced to %v, want one of %s", i+1, c[1], got, c[0])
			}
		}
	}
	t.Logf("%d claims, %d missed, %d invented", all, missed, invented)
	if all < 55 || missed > all/10 || invented > 0 {
		t.Errorf("of %d claims, %d were missed and %d wrongly traced", all, missed, invented)
	}
}

func TestSupport_ofNothing(t *testing.T) {
	t.Parallel()
	s := &Searcher{Analyzer: newAnalyzer(t), Settings: Default()}
	said := []core.Message{{ID: 3, Text: "The boat is blue", Tokens: 4}}
	for _, claim := range []string{"", "🎂", "the of and", "- "} {
		if got := s.Support([]string{claim}, said)[0]; got != nil {
			t.Errorf("%q was traced to %v", claim, got)
		}
	}
	if got := s.Support([]string{"The boat is blue"}, nil)[0]; got != nil {
		t.Errorf("got %v for a day without messages", got)
	}
	if got := s.Support([]string{"The boat is blue", "x"}, said); len(got) != 2 ||
		!slices.Equal(got[0], []core.MessageID{3}) {
		t.Errorf("got %v", got)
	}
}
