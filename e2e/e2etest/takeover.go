//go:build e2e

package e2etest

import (
	"time"
)

// Takeover is how long an account may be without a poller (SPEC 18).
const Takeover = 15 * time.Second
