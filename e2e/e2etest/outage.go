//go:build e2e

package e2etest

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/adapters/telegram/telegramtest"
)

// Unready waits until the process reports that its database is away.
func (w *Town) Unready(g *Gateway) {
	w.T.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		status, body := g.Get("/readyz")
		if status == http.StatusServiceUnavailable && strings.Contains(body, "database does not answer") {
			break
		}
		if time.Now().After(deadline) {
			w.T.Fatalf("readyz is %d: %s\n%s", status, body, g.Log)
		}
	}
	if status, body := g.Get("/healthz"); status != http.StatusOK {
		w.T.Errorf("healthz is %d: %s", status, body)
	}
}

var Failure500 = telegramtest.Failure{Code: 500}

// Answered waits until the last message that Ada received is text.
func (w *Town) Answered(t *testing.T, g *Gateway, text string) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		got := Texts(w.Telegram.Sent(Ada))
		if len(got) > 0 && got[len(got)-1] == text {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("got %q, want %q\n%s", got, text, g.Log)
		}
	}
}

// SentOrFailed waits until the first reply is sent or has failed.
func (w *Town) SentOrFailed(t *testing.T, g *Gateway) {
	t.Helper()
	l := w.Ledger()
	for deadline := time.Now().Add(20 * time.Second); l.Count(`SELECT COUNT(*) FROM deliveries`) == 0; time.Sleep(
		20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("nothing was to be sent\n%s", g.Log)
		}
	}
	w.Settle(l, g)
}
