package core

// Crash dies on demand at a step, in tests; nil: it never does.
type Crash func(step string)

// At is called at a step.
func (c Crash) At(step string) {
	if c != nil {
		c(step)
	}
}
