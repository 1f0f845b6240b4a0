package main

import (
	"io"

	"golang.org/x/term"

	"github.com/everthread/everthread/core/trust"
)

// drawn returns what is behind a screen, for what moves the cursor or has colours itself.
func drawn(w io.Writer) io.Writer {
	if s, ok := w.(*trust.Screen); ok {
		return s.W
	}
	return w
}

// widthOf returns the columns of a terminal; 80 if it does not say.
func widthOf(w io.Writer) int {
	if f, ok := drawn(w).(interface{ Fd() uintptr }); ok {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 {
			return columns
		}
	}
	return 80
}

// isTerminal reports whether somebody sees immediately what is written to w.
func isTerminal(w io.Writer) bool {
	f, ok := drawn(w).(interface{ Fd() uintptr })
	return ok && term.IsTerminal(int(f.Fd()))
}
