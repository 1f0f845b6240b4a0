//go:build e2e

package e2e

import (
	"archive/zip"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// exported are the messages of an export, as role and text, and its other lines.
func exported(t *testing.T, file string) (said []string, lines map[string]int) {
	t.Helper()
	z, err := zip.OpenReader(file)
	must(t, err)
	defer z.Close()
	lines = map[string]int{}
	for _, f := range z.File {
		if filepath.Ext(f.Name) != ".jsonl" {
			continue
		}
		r, err := f.Open()
		must(t, err)
		text, err := io.ReadAll(r)
		must(t, err)
		lines[f.Name] = strings.Count(string(text), "\n")
		if f.Name != "messages.jsonl" {
			continue
		}
		for line := range strings.Lines(string(text)) {
			var m struct{ Role, Kind, Text, Day string }
			must(t, json.Unmarshal([]byte(line), &m))
			said = append(said, m.Day+" "+m.Role+" "+m.Kind+" "+m.Text)
		}
	}
	return said, lines
}

// Somebody asks for everything in a chat, brings it to another gateway, and has
// this one forget them.
func TestSomebodyLeavesWithEverything(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := newTown(t, database(t))
		g := w.start("EVERTHREAD_HTTP_PUBLIC_URL=http://chat.example.org")
		for n, text := range []string{"hello", "/remember I like herons", "/remind in 3 days feed the heron", "/remind in 4 days never mind", "/remind cancel 2", "and now?"} {
			w.telegram.Say(ada, text)
			w.sent(ada, n+1)
		}
		user := w.member()
		w.telegram.Say(ada, "/export")
		answer := w.sent(ada, 7)[6].Text
		link := regexp.MustCompile(`http://chat\.example\.org/signin\?\S+`).FindString(answer)
		u, err := url.Parse(link)
		must(t, err)
		if u.Query().Get("next") != "/settings/export" {
			t.Fatalf("got %q", answer)
		}
		v := g.newGuest("")
		r, _ := v.post("/signin", url.Values{"code": {u.Query().Get("code")}, "next": {u.Query().Get("next")}})
		if r.StatusCode != http.StatusSeeOther || r.Header.Get("Location") != "/settings/export" {
			t.Fatalf("the link leads to %s, %s", r.Status, r.Header.Get("Location"))
		}
		if _, asked := v.get("/settings/export"); !strings.Contains(asked, "Say yes first") {
			t.Fatalf("nothing is asked: %.300s", asked)
		}
		w.agree(w.ledger(), g)
		r, body := v.get("/settings/export")
		if r.StatusCode != http.StatusOK || r.Header.Get("Content-Type") != "application/zip" {
			t.Fatalf("got %s: %.200s", r.Status, body)
		}
		file, again := filepath.Join(t.TempDir(), "all.zip"), filepath.Join(t.TempDir(), "again.zip")
		must(t, os.WriteFile(file, []byte(body), 0o600))
		said, lines := exported(t, file)
		if len(said) < 14 || lines["memory.jsonl"] != 1 || lines["reminders.jsonl"] != 2 {
			t.Errorf("%d messages and %v in the file", len(said), lines)
		}

		other := newTown(t, "")
		other.start().stop()
		other.mustRun("import", "jsonl", file)
		other.mustRun("export", "--out", again)
		back, linesBack := exported(t, again)
		if !slices.Equal(said, back) {
			t.Errorf("went out as\n%s\ncame in as\n%s", strings.Join(said, "\n"), strings.Join(back, "\n"))
		}
		delete(lines, "audit.jsonl") // what was done is not brought in
		for name, n := range lines {
			if linesBack[name] != n {
				t.Errorf("%s has %d lines, had %d", name, linesBack[name], n)
			}
		}

		if out := w.mustRun("users", "delete", user, "--yes", "--verify"); !strings.Contains(out, "Nothing is left") {
			t.Errorf("got %s", out)
		}
		if r, _ := v.get("/settings/export"); r.StatusCode == http.StatusOK {
			t.Error("the session of somebody who is gone still opens")
		}
	})
}
