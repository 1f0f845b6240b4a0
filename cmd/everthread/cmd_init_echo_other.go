//go:build !linux

package main

import "errors"

// noEcho is not known here.
func noEcho(int) error { return errors.ErrUnsupported }
