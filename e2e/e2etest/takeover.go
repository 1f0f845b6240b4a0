//go:build e2e

package e2etest

import (
	"time"
)

// Takeover is how long an account may be without a poller.
const Takeover = 15 * time.Second

// NineHundredWords is what a model that waits 5 ms before each takes for so many.
const NineHundredWords = 6 * time.Second
