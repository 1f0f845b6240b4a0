//go:build e2e

package e2etest

import (
	"strings"
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
