package server

import "golang.org/x/sys/unix"

// Private keeps other processes of the same user, such as MCP servers that are programs, from reading the memory and the
// environment of this one, and the kernel from writing them into a core dump. Root can still.
func Private() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }
