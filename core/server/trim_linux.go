package server

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// dropProgram releases the pages of the program file from the process's memory. They are read again from the page cache
// when needed. A mapping with modified pages (relocations) is kept: they would be replaced by those of the file.
func dropProgram() error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		return err
	}
	defer f.Close()
	var from, to uintptr // of the current mapping; 0: not the program's
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		switch {
		case len(fields) >= 5 && strings.Contains(fields[0], "-"):
			from, to = 0, 0
			if strings.HasSuffix(lines.Text(), exe) && !strings.Contains(fields[1], "w") {
				if _, err := fmt.Sscanf(fields[0], "%x-%x", &from, &to); err != nil {
					return fmt.Errorf("read the map of memory: %w", err)
				}
			}
		case len(fields) == 3 && fields[0] == "Anonymous:" && fields[1] == "0" && from != 0:
			if _, _, errno := syscall.Syscall(syscall.SYS_MADVISE, from, to-from, syscall.MADV_DONTNEED); errno != 0 {
				return fmt.Errorf("release pages: %w", errno)
			}
		}
	}
	return lines.Err()
}
