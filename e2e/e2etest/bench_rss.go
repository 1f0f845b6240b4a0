//go:build e2e && bench && linux

package e2etest

import (
	"os"
	"syscall"
)

// maxRSS is the most memory that a process took, in bytes.
func maxRSS(p *os.ProcessState) int64 { return p.SysUsage().(*syscall.Rusage).Maxrss << 10 }
