//go:build e2e

package e2e

import (
	"encoding/json"
	"strings"
	"testing"
)

// doctor runs the check and returns what it says of each thing, as "ok …" or
// "PROBLEM …".
func (w *town) doctor(env ...string) map[string][]string {
	w.t.Helper()
	old := w.env
	w.env = append(w.env[:len(w.env):len(w.env)], env...)
	out, _ := w.run("doctor", "--json") // it fails where something is wrong
	w.env = old
	var found []struct {
		Check, Detail string
		OK            bool
	}
	if err := json.Unmarshal([]byte(out), &found); err != nil {
		w.t.Fatalf("doctor said %q: %v", out, err)
	}
	said := map[string][]string{}
	for _, f := range found {
		mark := "ok "
		if !f.OK {
			mark = "PROBLEM "
		}
		said[f.Check] = append(said[f.Check], mark+f.Detail)
	}
	return said
}

func TestDoctorChecksEveryChannelForReal(t *testing.T) {
	t.Parallel()
	h := newHomeserver(t, true)
	w := newTown(t, "")
	wa := w.onWhatsApp()
	bot := w.onMatrix(h, "signal="+bridgeBot)
	bot.link()
	g := w.start()
	wa.Webhook(g.URL + "/webhooks/whatsapp")
	said := w.doctor("EVERTHREAD_HTTP_PUBLIC_URL=" + g.URL)
	for check, wants := range map[string][]string{
		"telegram": {"ok the bot is @"}, "whatsapp": {"Meta's business terms", "The token works", "https"}, "matrix": {"signal", "device"},
	} {
		all := strings.Join(said[check], "\n")
		for _, want := range wants {
			if !strings.Contains(all, want) {
				t.Errorf("%s: nothing of %q in\n%s", check, want, all)
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
		all := strings.Join(w.doctor(bad.env)[bad.check], "\n")
		if !strings.Contains(all, "PROBLEM") || !strings.Contains(all, bad.want) {
			t.Errorf("%s: %s", name, all)
		}
	}
}
