//go:build e2e

package data

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/e2e/e2etest"
)

func TestSecretKey_fileIsRotated(t *testing.T) {
	t.Parallel()
	w := e2etest.NewTown(t, "")
	w.Env = append(w.Env, "EVERTHREAD_SECRET_KEY=") // so that the key is a file
	s := w.OnAgents()
	s.Add(e2etest.AdaKey, e2etest.Erin)
	user := w.AddUser("Ada")
	w.AddKey(user, e2etest.AdaKey)
	path := filepath.Join(w.Dir, "secret_key")
	old, err := os.ReadFile(path)
	e2etest.Must(t, err)
	answers := 0
	works := func() {
		t.Helper()
		g := w.Start()
		answers++
		w.Reads(t, g, func(text string) { s.Say(e2etest.AdaKey, text) },
			func(n int) []string { return e2etest.Answered(t, s, e2etest.AdaKey, n, 30*time.Second, g) }, answers)
		w.Fails("it knows the old key only", "secrets", "rotate")
		w.Settle(w.Ledger(), g)
		g.Stop()
	}
	works()
	w.Crashes("resealed", "secrets", "rotate") // encrypted with the new key while the file still has the old one
	works()
	if out := w.MustRun("secrets", "rotate"); !strings.Contains(out, "0 stored values were encrypted again") {
		t.Errorf("the rotation did not continue: %s", out)
	}
	now, err := os.ReadFile(path)
	e2etest.Must(t, err)
	if string(now) == string(old) {
		t.Error("the key is the old one")
	}
	if left, _ := filepath.Glob(path + ".*"); len(left) > 0 {
		t.Errorf("left are %v", left)
	}
	works()
	if out := w.MustRun("secrets", "rotate"); !strings.Contains(out, "1 stored value was encrypted again") {
		t.Errorf("got output %s", out)
	}
	works()
}

func TestSecretKey_rotatedWhileEverybodyWorks(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewTown(t, database(t))
		const one, two = "EVERTHREAD_SECRET_KEY=the-first-key-of-enough-length-000000",
			"EVERTHREAD_SECRET_KEY=the-second-key-of-enough-length-00000"
		before := func(key string) string { return strings.Replace(key, "SECRET_KEY", "PREVIOUS_SECRET_KEY", 1) }
		s := w.OnAgents()
		env := w.Env
		s.Add(e2etest.AdaKey, e2etest.Erin)
		w.Env = append(env[:len(env):len(env)], one)
		w.AddKey(w.AddUser("Ada"), e2etest.AdaKey)
		if out := w.MustRun("secrets", "rotate"); !strings.Contains(out, "previous_secret_key") {
			t.Errorf("got output %s", out)
		}
		w.Env = append(env[:len(env):len(env)], two, before(one))
		g := w.Start()
		say := func(text string) { s.Say(e2etest.AdaKey, text) }
		sent := func(n int) []string { return e2etest.Answered(t, s, e2etest.AdaKey, n, 30*time.Second, g) }
		w.Reads(t, g, say, sent, 1)
		if out := w.MustRun("secrets", "rotate"); !strings.Contains(out, "remove previous_secret_key") {
			t.Errorf("got output %s", out)
		}
		w.Reads(t, g, say, sent, 2)
		w.Settle(w.Ledger(), g)
		g.Stop()
		w.Env = append(env[:len(env):len(env)], two)
		g = w.Start()
		w.Reads(t, g, say, sent, 3)
		w.Unreadable(w.Ledger(), e2etest.AdaKey)
	})
}
