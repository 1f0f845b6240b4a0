//go:build !unix

package datadir

// HandOver does nothing: here files inherit the access of their folder.
func HandOver(string) error { return nil }
