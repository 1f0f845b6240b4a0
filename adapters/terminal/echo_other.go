//go:build !linux

package terminal

import "errors"

// noEcho is not known here.
func noEcho(int) error { return errors.ErrUnsupported }
