//go:build e2e

package e2etest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Open lists the open files of a process.
func (g *Gateway) Open() []string {
	dir := fmt.Sprintf("/proc/%d/fd", g.Cmd.Process.Pid)
	entries, err := os.ReadDir(dir)
	Must(g.t, err)
	var out []string
	for _, e := range entries {
		name, _ := os.Readlink(filepath.Join(dir, e.Name()))
		out = append(out, name)
	}
	return out
}

func (g *Gateway) Files() int { return len(g.Open()) }

// Memory returns the resident memory of a process in bytes.
func (g *Gateway) Memory() int {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", g.Cmd.Process.Pid))
	Must(g.t, err)
	pages, err := strconv.Atoi(strings.Fields(string(b))[1])
	Must(g.t, err)
	return pages * os.Getpagesize()
}
