package document

import "syscall"

// beside is the memory that the program itself maps, beside what reading takes.
const beside = 128 << 20

// bound makes the kernel refuse memory far beyond what may be taken, such as that of one
// huge allocation.
func bound(memory int64) {
	most := uint64(memory + beside) //nolint:gosec // it is a size
	// Where the kernel does not take the limit, the watch is what there is.
	_ = syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: most, Max: most})
	_ = syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{})
}
