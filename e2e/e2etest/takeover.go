//go:build e2e

package e2etest

import (
	"time"
)

// Takeover bounds the time of an account without a poller.
const Takeover = 15 * time.Second

// NineHundredWords is the time for so many words of a model that waits 5 ms before each.
const NineHundredWords = 6 * time.Second
