//go:build e2e

package data

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

	"github.com/everthread/everthread/e2e/e2etest"
)

// exported returns the messages of an export, as role and text, and the lines of its other files.
func exported(t *testing.T, file string) (said []string, lines map[string]int) {
	t.Helper()
	z, err := zip.OpenReader(file)
	e2etest.Must(t, err)
	defer z.Close()
	lines = map[string]int{}
	for _, f := range z.File {
		if filepath.Ext(f.Name) != ".jsonl" {
			continue
		}
		r, err := f.Open()
		e2etest.Must(t, err)
		text, err := io.ReadAll(r)
		e2etest.Must(t, err)
		lines[f.Name] = strings.Count(string(text), "\n")
		if f.Name != "messages.jsonl" {
			continue
		}
		for line := range strings.Lines(string(text)) {
			var m struct{ Role, Kind, Text, Day string }
			e2etest.Must(t, json.Unmarshal([]byte(line), &m))
			said = append(said, m.Day+" "+m.Role+" "+m.Kind+" "+m.Text)
		}
	}
	return said, lines
}

// A user requests an export in a chat, imports it into another gateway, and deletes their account
// here.
func TestExport_somebodyLeavesWithEverything(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewTown(t, database(t))
		g := w.Start("EVERTHREAD_HTTP_PUBLIC_URL=http://chat.example.org")
		for n, text := range []string{"hello", "/remember I like herons", "/remind in 3 days feed the heron",
			"/remind in 4 days never mind", "/remind cancel 2", "and now?"} {
			w.Telegram.Say(e2etest.Ada, text)
			w.Sent(e2etest.Ada, n+1)
		}
		user := w.Member()
		w.Telegram.Say(e2etest.Ada, "/export")
		answer := w.Sent(e2etest.Ada, 7)[6].Text
		link := regexp.MustCompile(`http://chat\.example\.org/signin\?\S+`).FindString(answer)
		u, err := url.Parse(link)
		e2etest.Must(t, err)
		if u.Query().Get("next") != "/settings/export" {
			t.Fatalf("got %q", answer)
		}
		v := g.NewGuest("")
		r, _ := v.Post("/signin", url.Values{"code": {u.Query().Get("code")}, "next": {u.Query().Get("next")}})
		if r.StatusCode != http.StatusSeeOther || r.Header.Get("Location") != "/settings/export" {
			t.Fatalf("the link leads to %s, %s", r.Status, r.Header.Get("Location"))
		}
		if _, asked := v.Get("/settings/export"); !strings.Contains(asked, "Confirm first") {
			t.Fatalf("got no question: %.300s", asked)
		}
		w.Agree(w.Ledger(), g)
		r, body := v.Get("/settings/export")
		if r.StatusCode != http.StatusOK || r.Header.Get("Content-Type") != "application/zip" {
			t.Fatalf("got %s: %.200s", r.Status, body)
		}
		file, again := filepath.Join(t.TempDir(), "all.zip"), filepath.Join(t.TempDir(), "again.zip")
		e2etest.Must(t, os.WriteFile(file, []byte(body), 0o600))
		said, lines := exported(t, file)
		if len(said) < 14 || lines["memory.jsonl"] != 1 || lines["reminders.jsonl"] != 2 {
			t.Errorf("%d messages and %v in the file", len(said), lines)
		}

		other := e2etest.NewTown(t, "")
		other.Start().Stop()
		other.MustRun("import", "jsonl", file)
		other.MustRun("export", "--out", again)
		back, linesBack := exported(t, again)
		if !slices.Equal(said, back) {
			t.Errorf("exported\n%s\nimported\n%s", strings.Join(said, "\n"), strings.Join(back, "\n"))
		}
		delete(lines, "audit.jsonl") // neither the audit is imported
		delete(lines, "usage.jsonl") // nor what was used elsewhere
		for name, n := range lines {
			if linesBack[name] != n {
				t.Errorf("%s has %d lines, had %d", name, linesBack[name], n)
			}
		}

		if out := w.MustRun("users", "delete", user, "--yes", "--verify"); !strings.Contains(out, "Nothing is left") {
			t.Errorf("got %s", out)
		}
		if r, _ := v.Get("/settings/export"); r.StatusCode == http.StatusOK {
			t.Error("the session of a deleted user still works")
		}
	})
}
