package server

import (
	"net/http"
	"runtime/debug"
	"testing"
)

// percent returns a function that reads the GC percent, which is 100 until the test changes it.
func percent(t *testing.T) func() int {
	before := debug.SetGCPercent(100)
	t.Cleanup(func() { debug.SetGCPercent(before) })
	return func() int {
		p := debug.SetGCPercent(100)
		debug.SetGCPercent(p)
		return p
	}
}

func TestABusyProcessKeepsMoreGarbage(t *testing.T) {
	t.Setenv("GOGC", "")
	now := percent(t)
	var g Garbage
	for _, c := range []struct {
		allocated, live uint64
		want            int
	}{
		{busyFrom - 1, 6 << 20, 100},
		{busyFrom, 6 << 20, 400},
		{busyFrom, 1 << 20, 400},
		{busyFrom, 12 << 20, 200},
		{busyFrom, 1 << 30, 100},
		{busyFrom, 12 << 20, 200},
		{0, 12 << 20, 100},
	} {
		if g.work(c.allocated, c.live); now() != c.want {
			t.Errorf("GC percent %d with %d bytes allocated and %d in use, want %d", now(), c.allocated, c.live, c.want)
		}
	}
	g.work(busyFrom, 6<<20)
	t.Setenv("GOGC", "50")
	if g.work(0, 6<<20); now() != 400 {
		t.Errorf("GC percent %d although GOGC is set", now())
	}
}

func TestACrowdKeepsLessGarbage(t *testing.T) {
	t.Setenv("GOGC", "")
	now := percent(t)
	var c Garbage
	for range crowdFrom - 1 {
		c.note(nil, http.StateNew)
	}
	if got := now(); got != 100 {
		t.Errorf("GC percent %d before a crowd, want 100", got)
	}
	c.note(nil, http.StateNew)
	c.note(nil, http.StateActive)
	if got := now(); got != crowdGarbage {
		t.Errorf("GC percent %d in a crowd", got)
	}
	for range crowdFrom - crowdUntil {
		c.note(nil, http.StateClosed)
	}
	if got := now(); got != 100 {
		t.Errorf("GC percent %d after a crowd, want 100", got)
	}
}
