//go:build e2e

package e2e

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheDescriptionIsReadByOthers: what is served of /api/v1 passes the linters that
// programs for it are made with.
func TestTheDescriptionIsReadByOthers(t *testing.T) {
	t.Parallel()
	w := newTown(t, "")
	status, text := w.start().get("/api/openapi.yaml")
	if status != http.StatusOK {
		t.Fatalf("it is %d", status)
	}
	file := filepath.Join(t.TempDir(), "openapi.yaml")
	must(t, os.WriteFile(file, []byte(text), 0o600))
	bin := filepath.Dir(os.Getenv("EVERTHREAD_TEST_AIMOCK"))
	for _, c := range []*exec.Cmd{
		exec.Command("node", "peers/openapi.mjs", file),
		exec.Command(filepath.Join(bin, "redocly"), "lint", "--config", "peers/redocly.yaml", file),
	} {
		c.Env = append(os.Environ(), "REDOCLY_TELEMETRY=off", "REDOCLY_SUPPRESS_UPDATE_NOTICE=true")
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", strings.Join(c.Args, " "), err, out)
		}
	}
}
