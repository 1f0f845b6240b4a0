package deployment

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
)

func TestUnit_isSoundAndHardened(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("systemd-analyze is not installed; `make test` installs it")
	}
	for _, name := range []string{"everthread", "signal-cli"} {
		isSoundAndHardened(t, name)
	}
}

func isSoundAndHardened(t *testing.T, name string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "deploy", name+".service"))
	must(t, err)
	path := filepath.Join(t.TempDir(), name+".service")
	must(t, os.WriteFile(path, regexp.MustCompile(`/usr/local/bin/`+name).ReplaceAll(text, []byte(program(t))),
		0o644))
	if out, err := run(".", os.Environ(), "systemd-analyze", "verify", "--man=no", path); err != nil || out != "" {
		t.Errorf("verify %s: %v\n%s", name, err, out)
	}
	out, err := run(".", os.Environ(), "systemd-analyze", "security", "--offline=true", "--no-pager", path)
	must(t, err)
	const most = 1.5
	level := regexp.MustCompile(`Overall exposure level for \S+: ([0-9.]+)`).FindStringSubmatch(out)
	if level == nil {
		t.Fatalf("security: %s", out)
	}
	if n, err := strconv.ParseFloat(level[1], 64); err != nil || n > most {
		t.Errorf("the exposure of %s is %s, want at most %g\n%s", name, level[1], most, out)
	}
}
