//go:build !linux

package main

// dropProgram does nothing: only Linux is known to bear it.
func dropProgram() error { return nil }
