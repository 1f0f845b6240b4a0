package core

// Crash lets tests kill the process at a named step. nil does nothing.
type Crash func(step string)

// At calls c at a step, unless c is nil.
func (c Crash) At(step string) {
	if c != nil {
		c(step)
	}
}
