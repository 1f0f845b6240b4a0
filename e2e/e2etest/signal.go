//go:build e2e

package e2etest

import (
	"strings"

	"github.com/everthread/everthread/adapters/signal/signaltest"
)

// Alice is a person on the bridged network.
const Alice = "11111111-bbbb-4000-8000-000000000002"

// OnMatrix has a town's gateway serve an account of a homeserver.
func (w *Town) OnMatrix(h *Homeserver, bridges ...string) *Account {
	w.T.Helper()
	bot := h.Register("assistant")
	w.Env = append(w.Env, "EVERTHREAD_CHANNELS_MATRIX_HOMESERVER="+h.URL, "EVERTHREAD_CHANNELS_MATRIX_USER_ID="+bot.ID,
		"EVERTHREAD_CHANNELS_MATRIX_ACCESS_TOKEN="+bot.Token, "EVERTHREAD_CHANNELS_MATRIX_AUTOJOIN=*:"+serverName,
		"EVERTHREAD_CHANNELS_MATRIX_BRIDGES="+strings.Join(bridges, ","))
	return bot
}

// Grace is a person on Signal.
const Grace = "2f9a1c00-1111-4222-8333-444455556666"

// OnSignal has a town's gateway serve the account of a daemon of signal-cli.
func (w *Town) OnSignal() *signaltest.Server {
	w.T.Helper()
	s := signaltest.New()
	w.T.Cleanup(func() {
		s.Close()
		for _, err := range s.Errors() {
			w.T.Errorf("a request that signal-cli does not know: %v", err)
		}
	})
	w.Env = append(w.Env, "EVERTHREAD_CHANNELS_SIGNAL_API_URL="+s.URL(),
		"EVERTHREAD_CHANNELS_SIGNAL_ACCOUNT="+signaltest.Account, "EVERTHREAD_CHANNELS_SIGNAL_RATE_PER_CHAT=0")
	return s
}
