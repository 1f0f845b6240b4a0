//go:build !linux

package setup

import "errors"

// noEcho is not known here.
func noEcho(int) error { return errors.ErrUnsupported }
