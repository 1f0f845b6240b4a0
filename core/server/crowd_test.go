package server

import (
	"net/http"
	"runtime/debug"
	"testing"
)

func TestACrowdKeepsLessGarbage(t *testing.T) {
	t.Setenv("GOGC", "")
	before := debug.SetGCPercent(100)
	t.Cleanup(func() { debug.SetGCPercent(before) })
	now := func() int {
		percent := debug.SetGCPercent(100)
		debug.SetGCPercent(percent)
		return percent
	}
	var c crowd
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
