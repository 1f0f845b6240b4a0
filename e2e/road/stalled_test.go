//go:build e2e

package road

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/adapters/whatsapp/whatsapptest"
	"github.com/everthread/everthread/e2e/e2etest"
)

// TestAttack_stalledBodiesHoldLittleMemory opens hundreds of connections that send nearly all of a
// large unauthenticated body, and wait. The gateway's memory is bounded, it receives the service's
// updates meanwhile, and no connection stays for long.
func TestAttack_stalledBodiesHoldLittleMemory(t *testing.T) {
	w := e2etest.NewTown(t, "")
	s := w.OnWhatsApp()
	g := w.Start()
	s.Webhook(g.URL + "/webhooks/whatsapp")
	phone := whatsapptest.Person{Phone: "4915112345678", UserID: "DE.1", Name: "Erin"}
	s.Say(phone, "before")
	answers := func(n int) {
		t.Helper()
		for deadline := time.Now().Add(20 * time.Second); len(s.Sent()) < n; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%d of %d messages were answered\n%s", len(s.Sent()), n, g.Log)
			}
		}
	}
	answers(1)
	before := g.Peak()
	const connections, most = 150, 96 << 20
	const form = "Content-Type: application/x-www-form-urlencoded\r\n"
	for name, attack := range map[string][]struct {
		path, headers string
		size          int
	}{
		"webhook": {{"/webhooks/whatsapp", "X-Hub-Signature-256: sha256=" + strings.Repeat("0", 64) + "\r\n", 4 << 20}},
		"pages":   {{"/signin", form, 4 << 10}, {"/theme", form, 4 << 10}},
	} {
		began, had := time.Now(), len(s.Sent())
		var waiting []func() map[int]int
		for _, one := range attack {
			waiting = append(waiting, g.Stall(t, connections, one.path, one.headers, one.size))
		}
		s.Say(phone, "beside "+name)
		answers(had + 1)
		for _, stalled := range waiting {
			answered := stalled()
			refused := answered[http.StatusServiceUnavailable] + answered[http.StatusRequestTimeout] + answered[0]
			if refused != connections {
				t.Errorf("%s: they were answered %v", name, answered)
			}
		}
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("%s: they stayed for %s", name, took)
		}
		grown := g.Peak() - before
		t.Logf("%s: %d connections; the memory grew by %d MiB", name, connections, grown>>20)
		if grown > most {
			t.Errorf("%s: the memory grew by %d MiB", name, grown>>20)
		}
	}
}
