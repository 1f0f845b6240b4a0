//go:build e2e && bench

package e2etest

import (
	"os"
	"os/exec"
	"time"
)

// Timed runs a subcommand, and returns its duration and peak memory.
func (w *Town) Timed(args ...string) (took time.Duration, rss int64) {
	w.T.Helper()
	cmd := exec.Command(Program, args...)
	cmd.Dir = w.Dir
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.Dir}, w.Env...)
	cmd.Stderr = os.Stderr
	begin := time.Now()
	Must(w.T, cmd.Run())
	return time.Since(begin), maxRSS(cmd.ProcessState)
}
