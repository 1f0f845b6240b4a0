//go:build e2e && unix

package e2etest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// Limited runs a command with a limit on the size of files, in KiB.
func (w *Town) Limited(kib int, args ...string) (string, error) {
	cmd := exec.Command("/bin/sh", append([]string{"-c", fmt.Sprintf(`ulimit -f %d; exec "$0" "$@"`, 2*kib), w.Program},
		args...)...)
	cmd.Dir = w.Dir
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.Dir}, w.Env...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if err != nil {
		err = fmt.Errorf("everthread %s: %w\n%s", strings.Join(args, " "), err, errs.String())
	}
	return out.String(), err
}
