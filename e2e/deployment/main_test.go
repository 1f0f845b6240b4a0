// Package deployment tests an operator's starting points: the Compose file with the steps of the
// README, the Dockerfile, the systemd units, the Prometheus rules. It is a module of its own, to
// keep its dependencies out of the gateway's.
package deployment

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// root is the folder of the repository.
const root = "../.."

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "docker" {
		os.Exit(docker(os.Args[1:]))
	}
	built.dir, _ = os.MkdirTemp("", "everthread-deployment") // if this fails, nothing can be built there
	code := m.Run()
	_ = os.RemoveAll(built.dir)
	os.Exit(code)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// built is the program, built on first use as for a release.
var built struct {
	once sync.Once
	dir  string
	err  error
}

// program returns the path of the program.
func program(t *testing.T) string {
	t.Helper()
	path := filepath.Join(built.dir, "everthread")
	built.once.Do(func() {
		build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-tags", "goolm", "-ldflags", "-s -w", "-o", path,
			"./cmd/everthread")
		build.Dir, build.Env = root, append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			built.err = fmt.Errorf("build: %w\n%s", err, out)
		}
	})
	must(t, built.err)
	return path
}

// checkout copies files of the repository into a new folder, as in a fresh clone; without paths,
// all of them.
func checkout(t *testing.T, paths ...string) string {
	t.Helper()
	list := exec.Command("git", append([]string{"ls-files", "-z", "--cached", "--others", "--exclude-standard", "--"},
		paths...)...)
	list.Dir = root
	names, err := list.Output()
	must(t, err)
	dir := t.TempDir()
	for name := range strings.SplitSeq(strings.TrimRight(string(names), "\x00"), "\x00") {
		copyFile(t, filepath.Join(root, name), filepath.Join(dir, name))
	}
	return dir
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	info, err := os.Stat(from)
	if os.IsNotExist(err) { // removed, but not committed yet
		return
	}
	must(t, err)
	text, err := os.ReadFile(from)
	must(t, err)
	must(t, os.MkdirAll(filepath.Dir(to), 0o755))
	must(t, os.WriteFile(to, text, info.Mode().Perm()))
}

// run runs a command and returns its output.
func run(dir string, env []string, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, env
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

func mode(t *testing.T, path string) fs.FileMode {
	t.Helper()
	info, err := os.Stat(path)
	must(t, err)
	return info.Mode().Perm()
}
