//go:build linux

package main

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/everthread/everthread/core/engine"
)

// At a terminal the first start shows in a box what to open and what to send; the next one
// is as short as possible.
func TestServe_greetsAtATerminal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := []string{"EVERTHREAD_HTTP_LISTEN=127.0.0.1:0", "LANG=en_US.UTF-8", "HOME=" + dir}
	k := sitDown(t, dir, env, "serve")
	if err := unix.IoctlSetWinsize(int(k.ptmx.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: 100, Row: 30}); err != nil {
		t.Fatal(err)
	}
	k.see("is running at http://127.0.0.1:")
	k.see("╭──")
	k.see("│ Open  \x1b]8;;http://127.0.0.1:")
	k.see("/signin?code=")
	k.see("works once, for an hour")
	k.see("│ Send  /start ")
	k.see("╰──")
	k.see("The demo model answers")
	k.see("Ctrl-C stops it")
	k.press("\x03")
	k.ends()
	if log := k.screen(); strings.Contains(log, "INFO\teverthread is up") {
		t.Errorf("the log says it once more: %s", log)
	}
}

func TestGreeting_fitsTheScreen(t *testing.T) {
	t.Parallel()
	g := greeting{Welcome: engine.Welcome{Code: "ABCDEFGHJK",
		Link: "http://127.0.0.1:8080/signin?code=ABCDEFGHJKLMNPQRSTUVWXYZ"}}
	g.cfg.LLM.Provider, g.cfg.HTTP.PublicURL = "demo", "http://127.0.0.1:8080"
	for _, language := range []string{"en", "fr", "de"} {
		var wide, narrow strings.Builder
		g.draw(&wide, language, 90)
		g.draw(&narrow, language, 40)
		if !strings.Contains(wide.String(), "╭") || strings.Contains(narrow.String(), "╭") {
			t.Errorf("%s: a box stands where none fits, or none where one does:\n%s\n%s", language, wide.String(), narrow.String())
		}
	}
	var again strings.Builder
	g.Link, g.Code = "", ""
	g.draw(&again, "en", 90)
	if strings.Contains(again.String(), "╭") {
		t.Errorf("the second start draws %q", again.String())
	}
}
