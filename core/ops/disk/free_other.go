//go:build !linux && !darwin

package disk

// freeBytes is unknown on this system.
func freeBytes(string) (n int64, known bool) { return 0, false }
