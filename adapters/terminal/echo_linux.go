package terminal

import "golang.org/x/sys/unix"

// noEcho keeps a terminal from showing what is typed.
func noEcho(fd int) error {
	t, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return err
	}
	t.Lflag &^= unix.ECHO
	return unix.IoctlSetTermios(fd, unix.TCSETS, t)
}
