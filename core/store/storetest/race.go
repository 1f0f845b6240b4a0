//go:build race

package storetest

// raced is true under the race detector.
const raced = true
