//go:build e2e

package channels

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/everthread/everthread/e2e/e2etest"
)

// TestOpenAPI_passesOtherLinters checks the served description of /api/v1 with third-party
// linters.
func TestOpenAPI_passesOtherLinters(t *testing.T) {
	t.Parallel()
	w := e2etest.NewTown(t, "")
	status, text := w.Start().Get("/api/openapi.yaml")
	if status != http.StatusOK {
		t.Fatalf("got status %d", status)
	}
	file := filepath.Join(t.TempDir(), "openapi.yaml")
	e2etest.Must(t, os.WriteFile(file, []byte(text), 0o600))
	bin := filepath.Dir(os.Getenv("EVERTHREAD_TEST_AIMOCK"))
	for _, c := range []*exec.Cmd{
		exec.Command("node", "../peers/openapi.mjs", file),
		exec.Command(filepath.Join(bin, "redocly"), "lint", "--config", "../peers/redocly.yaml", file),
	} {
		c.Env = append(os.Environ(), "REDOCLY_TELEMETRY=off", "REDOCLY_SUPPRESS_UPDATE_NOTICE=true")
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", strings.Join(c.Args, " "), err, out)
		}
	}
}
