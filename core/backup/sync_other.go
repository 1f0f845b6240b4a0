//go:build !unix

package backup

// syncDisks does nothing: this system has no call for it.
func syncDisks() {}
