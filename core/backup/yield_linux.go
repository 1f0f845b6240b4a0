package backup

import "syscall"

// yieldToOthers gives the current thread a low priority.
func yieldToOthers() {
	_ = syscall.Setpriority(syscall.PRIO_PROCESS, 0, 10) // of the thread only; if it fails, the priority stays
}
