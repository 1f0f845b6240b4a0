package setup

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
)

// TestEveryFaultIsSaidInBothLanguages: with the same things in it, and nothing left over.
func TestEveryFaultIsSaidInBothLanguages(t *testing.T) {
	t.Parallel()
	en, fr := english(), french()
	for _, kinds := range [][2][]string{{keys(en.faults), keys(fr.faults)}, {keys(en.reasons), keys(fr.reasons)}} {
		if !slices.Equal(kinds[0], kinds[1]) {
			t.Errorf("in English %q, in French %q", kinds[0], kinds[1])
		}
	}
	for kind, text := range en.faults {
		for _, part := range []string{"{where}", " ({detail})"} {
			if strings.Contains(text, part) != strings.Contains(fr.faults[kind], part) {
				t.Errorf("%s: %s is not in both", kind, part)
			}
		}
		for _, w := range []words{en, fr} {
			said := w.said(&Fault{Wrong: kind, Where: "there", Err: errors.New("never said")})
			if said == "" || strings.ContainsAny(said, "{}") || strings.Contains(said, "()") || strings.Contains(said, "never") {
				t.Errorf("%s: %q", kind, said)
			}
		}
	}
	f := &Fault{Wrong: WrongUnreached, Where: "db", Reason: ReasonTime, Detail: "dial tcp: i/o timeout"}
	if got := fr.said(f); !strings.Contains(got, "db ne répond pas (rien n’est venu à temps)") {
		t.Errorf("got %q", got)
	}
	if f.Reason = ""; !strings.Contains(fr.said(f), "(dial tcp: i/o timeout)") {
		t.Errorf("got %q", fr.said(f))
	}
}

func keys[K ~string](m map[K]string) []string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, string(k))
	}
	return out
}
