//go:build e2e

package e2etest

import (
	"fmt"
	"testing"
	"time"
)

// TalkThrough sends four messages, each when the previous ones are done; the second has a
// reply of several parts. It starts the gateway again after a crash, which must happen
// once.
func (w *Town) TalkThrough(t *testing.T, l *Ledger, g *Gateway) ([]string, *Gateway) {
	t.Helper()
	said := []string{"one", "say 1200 words", "three", "four"}
	crashed := false
	for n, text := range said {
		w.Telegram.Say(Ada, text)
		for deadline := time.Now().Add(40 * time.Second); len(l.Transcript(fmt.Sprint(Ada))) <= n || l.left() > 0; {
			switch gone := g.Wait(10 * time.Millisecond); {
			case time.Now().After(deadline):
				l.Quiet(0, g.Log)
			case gone && crashed:
				t.Fatalf("it ended again\n%s", g.Log)
			case gone:
				if code := g.Cmd.ProcessState.ExitCode(); code != 137 {
					t.Fatalf("exit code %d\n%s", code, g.Log)
				}
				crashed = true
				g = w.Start()
			}
		}
	}
	if !crashed {
		t.Fatalf("it did not crash\n%s", g.Log)
	}
	return said, g
}
