package main

import (
	"strings"
	"testing"

	"github.com/everthread/everthread/adapters/matrix"
	"github.com/everthread/everthread/adapters/signal"
	"github.com/everthread/everthread/configs"
)

// TestConfig_oneWayToEachService: a service that a bridge carries is not configured itself.
func TestConfig_oneWayToEachService(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		account, bridge string
		refused         bool
	}{
		"both":           {"+4930123456", "signal=@signalbot:example.org", true},
		"the bridge":     {"", "signal=@signalbot:example.org", false},
		"signal-cli":     {"+4930123456", "", false},
		"another bridge": {"+4930123456", "slack=@slackbot:example.org", false},
	} {
		cfg := configs.Default(sections()...)
		sectionOf[*signal.Config](&cfg).Account = c.account
		m := sectionOf[*matrix.Config](&cfg)
		m.Homeserver, m.UserID, m.Password = "https://example.org", "@bot:example.org", "x"
		if c.bridge != "" {
			m.Bridges = []string{c.bridge}
		}
		err := cfg.Validate()
		if (err != nil) != c.refused || err != nil && !strings.Contains(err.Error(),
			"channels.signal is set, and channels.matrix carries signal too") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
