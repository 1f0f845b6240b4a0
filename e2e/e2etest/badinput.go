//go:build e2e

package e2etest

import (
	"maps"
	"net/http"
	"testing"
	"time"
)

// Message offers a message of Ada with the given fields beyond sender and chat.
func (w *Town) Message(id int64, fields map[string]any) int64 {
	m := Written(Ada, id, "")
	maps.Copy(m, fields)
	return w.Telegram.Offer(map[string]any{"message": m})
}

// Pushed starts a gateway with a webhook, and the service that calls it.
func (w *Town) Pushed(t *testing.T) *Pushed {
	t.Helper()
	w.Env = append(w.Env, "EVERTHREAD_CHANNELS_TELEGRAM_MODE=webhook",
		"EVERTHREAD_CHANNELS_TELEGRAM_WEBHOOK_SECRET="+WebhookKey,
		"EVERTHREAD_HTTP_PUBLIC_URL=https://everthread.example.org")
	g := w.Start()
	p := &Pushed{T: t, Targets: []*AtomicGateway{{}}, Client: http.Client{Timeout: 10 * time.Second}}
	p.Targets[0].Store(g)
	return p
}
