//go:build linux

package server

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const privateHelper = "EVERTHREAD_TEST_PRIVATE"

// TestPrivate_ofAChild starts a process that becomes private, or not, and then runs a program as an MCP server is run.
// That program looks for the secret in the environment of its parent.
func TestPrivate_ofAChild(t *testing.T) {
	if how := os.Getenv(privateHelper); how != "" {
		if how == "private" {
			if err := Private(); err != nil {
				t.Fatal(err)
			}
			if _, err := os.ReadFile("/proc/self/maps"); err != nil {
				t.Fatal("it cannot read about itself: ", err)
			}
		}
		out, err := exec.Command("cat", fmt.Sprintf("/proc/%d/environ", os.Getpid())).CombinedOutput()
		fmt.Println(strings.ReplaceAll(string(out), "\x00", "\n"), err)
		return
	}
	t.Parallel()
	dir := t.TempDir()
	program := filepath.Join(dir, "program")
	data, err := os.ReadFile("/proc/self/exe")
	for _, one := range []error{err, os.Chmod(dir, 0o755), os.Chmod(filepath.Dir(dir), 0o755),
		os.WriteFile(program, data, 0o755)} {
		if one != nil {
			t.Fatal(one)
		}
	}
	for how, want := range map[string]bool{"open": true, "private": false} {
		c := exec.Command(program, "-test.run", "TestPrivate_ofAChild", "-test.v")
		c.Env = []string{"PATH=" + os.Getenv("PATH"), privateHelper + "=" + how, "TOKEN=s3cret"}
		c.Dir = dir
		if os.Getuid() == 0 { // root reads everything
			c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		}
		out, err := c.CombinedOutput()
		if err != nil || strings.Contains(string(out), "s3cret") != want {
			t.Errorf("%s: %v\n%s", how, err, out)
		}
	}
}
