//go:build !unix

package backup

// SyncDisks does nothing: this system has no call for it.
func SyncDisks() {}
