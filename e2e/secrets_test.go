//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// reads checks that a gateway can read the key of Ada's agent, which says so by
// answering there.
func (w *town) reads(t *testing.T, g *gateway, say func(string), sent func(int) []string, n int) {
	t.Helper()
	say("hello")
	if got := sent(n); got[n-1] != "echo: hello" {
		t.Errorf("answered %q\n%s", got, g.log)
	}
}

func TestTheKeyFileIsChanged(t *testing.T) {
	t.Parallel()
	w := newTown(t, "")
	w.env = append(w.env, "EVERTHREAD_SECRET_KEY=") // so that it is a file
	s := w.onAgents()
	s.Add(adaKey, erin)
	user := w.addUser("Ada")
	w.addKey(user, adaKey)
	path := filepath.Join(w.dir, "secret_key")
	old, err := os.ReadFile(path)
	must(t, err)
	answers := 0
	works := func() {
		t.Helper()
		g := w.start()
		answers++
		w.reads(t, g, func(text string) { s.Say(adaKey, text) }, func(n int) []string { return answered(t, s, adaKey, n, 30*time.Second, g) }, answers)
		w.fails("it knows the old key only", "secrets", "rotate")
		w.settle(w.ledger(), g)
		g.stop()
	}
	works()
	w.crashes("resealed", "secrets", "rotate") // encrypted again, and the file is the old one
	works()
	if out := w.mustRun("secrets", "rotate"); !strings.Contains(out, "0 stored values were encrypted again") {
		t.Errorf("it went not on: %s", out)
	}
	now, err := os.ReadFile(path)
	must(t, err)
	if string(now) == string(old) {
		t.Error("the key is the old one")
	}
	if left, _ := filepath.Glob(path + ".*"); len(left) > 0 {
		t.Errorf("left are %v", left)
	}
	works()
	if out := w.mustRun("secrets", "rotate"); !strings.Contains(out, "1 stored value was encrypted again") {
		t.Errorf("it says %s", out)
	}
	works()
}

func TestTheConfiguredKeyIsChangedWhileEverybodyWorks(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := newTown(t, database(t))
		const one, two = "EVERTHREAD_SECRET_KEY=the-first-key-of-enough-length-000000", "EVERTHREAD_SECRET_KEY=the-second-key-of-enough-length-00000"
		before := func(key string) string { return strings.Replace(key, "SECRET_KEY", "PREVIOUS_SECRET_KEY", 1) }
		s := w.onAgents()
		env := w.env
		s.Add(adaKey, erin)
		w.env = append(env[:len(env):len(env)], one)
		w.addKey(w.addUser("Ada"), adaKey)
		if out := w.mustRun("secrets", "rotate"); !strings.Contains(out, "previous_secret_key") {
			t.Errorf("it says %s", out)
		}
		w.env = append(env[:len(env):len(env)], two, before(one))
		g := w.start()
		say := func(text string) { s.Say(adaKey, text) }
		sent := func(n int) []string { return answered(t, s, adaKey, n, 30*time.Second, g) }
		w.reads(t, g, say, sent, 1)
		if out := w.mustRun("secrets", "rotate"); !strings.Contains(out, "remove previous_secret_key") {
			t.Errorf("it says %s", out)
		}
		w.reads(t, g, say, sent, 2)
		w.settle(w.ledger(), g)
		g.stop()
		w.env = append(env[:len(env):len(env)], two)
		g = w.start()
		w.reads(t, g, say, sent, 3)
		w.unreadable(w.ledger(), adaKey)
	})
}
