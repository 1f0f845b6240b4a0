package plan_test

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/google/go-cmp/cmp"

	"github.com/everthread/everthread/core/plan"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (rewrite it with -update):\n%s", file, d)
	}
}

// times are settings with all defaults.
var times plan.Settings

// morning is Thursday 19 November 2026, 09:30 in Paris.
func morning() time.Time { return time.Date(2026, 11, 19, 8, 30, 0, 0, time.UTC) }

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	l, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// said formats the result for a text as one line.
func said(at time.Time, cron, rest string, err error, loc *time.Location) string {
	if err != nil {
		return "! " + err.Error()
	}
	out := at.In(loc).Format("Mon 2006-01-02 15:04:05 -07:00")
	out = strings.Replace(out, ":00 ", " ", 1)
	if cron != "" {
		out += " (" + cron + ")"
	}
	if rest != "" {
		out += " | " + rest
	}
	return out
}

// TestParse reads lines of testdata/{en,fr,de}.txt: a text and, after an arrow, its result on
// Thursday 19 November 2026, 09:30 in Paris.
func TestParse(t *testing.T) {
	t.Parallel()
	paris := zone(t, "Europe/Paris")
	for _, lang := range []string{"en", "fr", "de"} {
		file := lang + ".txt"
		var b strings.Builder
		n := 0
		for _, line := range lines(t, filepath.Join("testdata", file)) {
			text, _, ok := strings.Cut(line, " => ")
			if !ok {
				b.WriteString(line + "\n")
				continue
			}
			n++
			at, cron, rest, err := times.Parse(text, morning(), paris, lang)
			fmt.Fprintf(&b, "%s => %s\n", text, said(at, cron, rest, err, paris))
		}
		if n < 80 {
			t.Errorf("%s has %d lines, want at least 80", file, n)
		}
		golden(t, file, b.String())
	}
}

func lines(t *testing.T, file string) []string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []string
	for s := bufio.NewScanner(f); s.Scan(); {
		out = append(out, s.Text())
	}
	return out
}

// TestParse_midnightIsADefaultHour checks that a configured hour of zero is not taken for none.
func TestParse_midnightIsADefaultHour(t *testing.T) {
	t.Parallel()
	at, _, _, err := plan.Settings{MaxReminders: 5}.Parse("tomorrow call Ana", morning(), time.UTC, "en")
	if want := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC); err != nil || !at.Equal(want) {
		t.Errorf("got %v, %v, want %v", at, err, want)
	}
}
