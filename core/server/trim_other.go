//go:build !linux

package server

// dropProgram does nothing: only Linux is known to support it.
func dropProgram() error { return nil }
