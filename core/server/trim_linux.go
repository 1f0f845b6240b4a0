package server

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
)

// pages is a range of addresses.
type pages struct{ from, to uintptr }

// programPages lists the mappings of the program file. One with modified pages (relocations) is not among them: they
// would be replaced by those of the file.
var programPages = sync.OnceValues(func() (all []pages, err error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var p pages // of the current mapping; 0: not the program's
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		switch {
		case len(fields) >= 5 && strings.Contains(fields[0], "-"):
			p = pages{}
			if strings.HasSuffix(lines.Text(), exe) && !strings.Contains(fields[1], "w") {
				if _, err := fmt.Sscanf(fields[0], "%x-%x", &p.from, &p.to); err != nil {
					return nil, fmt.Errorf("read the map of memory: %w", err)
				}
			}
		case len(fields) == 3 && fields[0] == "Anonymous:" && fields[1] == "0" && p.from != 0:
			all = append(all, p)
		}
	}
	return all, lines.Err()
})

// dropProgram releases the pages of the program file from the process's memory. They are read again from the page cache
// when needed.
func dropProgram() error {
	all, err := programPages()
	for _, p := range all {
		if _, _, errno := syscall.Syscall(syscall.SYS_MADVISE, p.from, p.to-p.from, syscall.MADV_DONTNEED); errno != 0 {
			return fmt.Errorf("release pages: %w", errno)
		}
	}
	return err
}
