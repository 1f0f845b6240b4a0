//go:build e2e

package e2etest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
)

// nextProgram is the program of a future version with one more migration.
var nextProgram = sync.OnceValues(func() (string, error) {
	path := filepath.Join(filepath.Dir(Program), "everthread-next")
	build := exec.Command("go", "build", "-tags", "goolm crashpoints nextversion", "-ldflags", "-s -X main.version=next",
		"-o", path, "../../cmd/everthread")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the next version: %w\n%s", err, out)
	}
	return path, nil
})

// Upgraded returns the town with the next version's program.
func (w *Town) Upgraded() *Town {
	w.T.Helper()
	path, err := nextProgram()
	Must(w.T, err)
	next := *w
	next.Program = path
	return &next
}

// Schema returns the version of the schema in the database, and the program's version.
func (w *Town) Schema() string {
	w.T.Helper()
	return regexp.MustCompile(`\d+`).FindString(w.MustRun("migrate", "status"))
}
