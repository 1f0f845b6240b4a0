//go:build e2e

package web

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/everthread/everthread/e2e/e2etest"
)

// markup checks the HTML of pages with html-validate, a third-party tool.
type markup struct {
	t   *testing.T
	dir string
	bin string
}

func newMarkup(t *testing.T) *markup {
	t.Helper()
	m := &markup{t: t, dir: t.TempDir(),
		bin: filepath.Join(filepath.Dir(os.Getenv("EVERTHREAD_TEST_AIMOCK")), "html-validate")}
	if _, err := os.Stat(m.bin); err != nil {
		t.Skip("html-validate is not there; `make test` installs it")
	}
	e2etest.Must(t, os.WriteFile(filepath.Join(m.dir, ".htmlvalidate.json"),
		[]byte(`{"root": true, "extends": ["html-validate:standard"]}`), 0o600))
	return m
}

// keep stores a page as sent by the server.
func (m *markup) keep(p *e2etest.Tab, name string) {
	m.t.Helper()
	text := e2etest.Js[string](p, "fetch(location.href).then((r) => r.text())")
	e2etest.Must(m.t, os.WriteFile(filepath.Join(m.dir, name+".html"), []byte(text), 0o600))
}

// faults lists the errors with their pages.
func (m *markup) faults() map[string][]string {
	m.t.Helper()
	files, err := filepath.Glob(filepath.Join(m.dir, "*.html"))
	e2etest.Must(m.t, err)
	if len(files) < 20 {
		m.t.Errorf("only %d pages were kept", len(files))
	}
	report := filepath.Join(m.dir, "report.json") // html-validate writes only one piece to a pipe
	said, err := exec.CommandContext(m.t.Context(), m.bin,
		append([]string{"--formatter", "json=" + report}, files...)...).CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		m.t.Fatal(err)
	}
	out, err := os.ReadFile(report)
	if err != nil {
		m.t.Fatalf("got html-validate output %s", said)
	}
	var all []struct {
		FilePath string
		Messages []struct{ RuleID, Message, Selector string }
	}
	if err := json.Unmarshal(out, &all); err != nil {
		m.t.Fatalf("got html-validate output %.1000q: %v", out, err)
	}
	found := map[string][]string{}
	for _, page := range all {
		for _, f := range page.Messages {
			said := f.RuleID + ": " + f.Message + " at " + f.Selector
			found[said] = append(found[said], filepath.Base(page.FilePath))
		}
	}
	return found
}
