package document

import "syscall"

// beside is the memory that the program itself maps.
const beside = 128 << 20

// bound makes the kernel refuse memory far beyond the limit, such as one huge allocation.
func bound(memory int64) {
	most := uint64(memory + beside) //nolint:gosec // it is a size
	// If the kernel refuses the limit, watchMemory remains.
	_ = syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: most, Max: most})
	_ = syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{})
}
