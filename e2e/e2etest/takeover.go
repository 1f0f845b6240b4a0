//go:build e2e

package e2etest

import (
	"time"
)

// Takeover is how long an account may be without a poller.
const Takeover = 15 * time.Second
