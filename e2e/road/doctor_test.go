//go:build e2e

package road

import (
	"strings"
	"testing"

	"github.com/everthread/everthread/e2e/e2etest"
)

func TestDoctor_checksEveryChannel(t *testing.T) {
	t.Parallel()
	h := e2etest.NewHomeserver(t, true)
	w := e2etest.NewTown(t, "")
	wa := w.OnWhatsApp()
	bot := w.OnMatrix(h, "signal="+e2etest.BridgeBot)
	bot.Link()
	g := w.Start()
	wa.Webhook(g.URL + "/webhooks/whatsapp")
	said := w.Doctor("EVERTHREAD_HTTP_PUBLIC_URL=" + g.URL)
	for check, wants := range map[string][]string{
		"telegram": {"ok the bot is @"}, "whatsapp": {"Meta's business terms", "The token works", "https"},
		"matrix": {"signal", "device"},
	} {
		all := strings.Join(said[check], "\n")
		for _, want := range wants {
			if !strings.Contains(all, want) {
				t.Errorf("%s: %q is missing in\n%s", check, want, all)
			}
		}
	}
	for check, lines := range said {
		for _, line := range lines {
			t.Logf("%s: %s", check, line)
		}
	}
	for name, bad := range map[string]struct{ env, check, want string }{
		"a wrong token of WhatsApp": {"EVERTHREAD_CHANNELS_WHATSAPP_ACCESS_TOKEN=wrong", "whatsapp", "access_token"},
		"a wrong token of Matrix":   {"EVERTHREAD_CHANNELS_MATRIX_ACCESS_TOKEN=wrong", "matrix", "access_token"},
		"a homeserver that is away": {"EVERTHREAD_CHANNELS_MATRIX_HOMESERVER=http://127.0.0.1:1", "matrix", "homeserver"},
	} {
		all := strings.Join(w.Doctor(bad.env)[bad.check], "\n")
		if !strings.Contains(all, "PROBLEM") || !strings.Contains(all, bad.want) {
			t.Errorf("%s: %s", name, all)
		}
	}
}
