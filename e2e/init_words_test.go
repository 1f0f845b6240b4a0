//go:build e2e

package e2e

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/everthread/everthread/adapters/telegram/telegramtest"
)

// What the checks of the wizard find is told in the language of the wizard.
func TestTheWizardSaysInFrenchWhatIsWrong(t *testing.T) {
	t.Parallel()
	w := newWizard(t)
	w.env = append(w.env, "LANG=fr_FR.UTF-8")
	refusing := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusUnauthorized) }))
	t.Cleanup(refusing.Close)
	w.ask()
	w.answer(`Quel modèle`, "http://127.0.0.1:1/v1")
	w.answer(`Sa clé`, "")
	w.until(`Cela n’a pas fonctionné\x{a0}: 127\.0\.0\.1:1 ne répond pas \(la connexion est refusée\)\x{a0}; vérifiez l’adresse`)
	w.answer(`Quel modèle`, "http://nulle-part.invalid/v1")
	w.answer(`Sa clé`, "")
	w.until(`nulle-part\.invalid ne répond pas \(aucune machine ne porte ce nom\)`)
	w.answer(`Quel modèle`, refusing.URL)
	w.answer(`Sa clé`, "fausse-cle")
	w.until(`n’accepte pas cette clé \(401 Unauthorized\)\x{a0}; recopiez-la`)
	w.until(`Sa clé`)
	must(t, w.cmd.Process.Kill())
	_ = w.cmd.Wait()

	w.ask()
	w.answer(`Quel modèle`, "demo")
	w.telegram.Fail("getMe", 1, telegramtest.Failure{Code: http.StatusUnauthorized})
	w.answer(`jeton`, "123:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")
	w.until(`Telegram refuse le jeton .*; recopiez-le`)
	w.answer(`jeton`, "")
	w.answer(`Autre chose`, "database")
	w.answer(`adresse de la base`, "mysql://x")
	w.until(`ce n’est pas l’adresse d’une base`)
	w.answer(`adresse de la base`, "postgres://u:geheim@127.0.0.1:1/d")
	w.until(`la base ne répond pas \(la connexion est refusée\)`)
	if strings.Contains(w.out.String(), "check the") || strings.Contains(w.out.String(), "geheim") {
		t.Errorf("English, or a secret, in\n%s", w.out)
	}
	must(t, w.cmd.Process.Kill())
	_ = w.cmd.Wait()
}

// The password of a Matrix account is tried on a real homeserver, and no device is
// left behind by that.
func TestTheWizardTriesThePasswordOfMatrix(t *testing.T) {
	t.Parallel()
	h := newHomeserver(t, false)
	a := h.register("assistant")
	devices := func() int {
		t.Helper()
		var out struct{ Devices []any }
		h.call(http.MethodGet, "/_matrix/client/v3/devices", a.token, nil, &out)
		return len(out.Devices)
	}
	before := devices()
	w := newWizard(t)
	w.ask()
	w.answer(`Which model`, "demo")
	w.answer(`token of your Telegram bot`, "")
	w.answer(`Anything else`, "matrix")
	tries := func(server, user, password, want string) {
		t.Helper()
		w.answer(`The homeserver`, server)
		w.answer(`assistant's account`, user)
		w.answer(`Its password`, password)
		w.until(want)
	}
	tries("http://127.0.0.1:1", a.id, "x", `127\.0\.0\.1:1 does not answer \(the connection is refused\)`)
	tries(w.model, a.id, "x", `is no homeserver that lets in with a password`)
	tries(h.url, "assistant", "x", `assistant is no account`)
	tries(h.url, a.id, "wrong-password", `the homeserver refuses the password of @assistant:hs\.test`)
	if n := devices(); n != before {
		t.Errorf("%d devices after tries that failed, %d before", n, before)
	}
	tries(h.url+"/", a.id, passwordOf("assistant"), `The account can sign in\.`)
	if n := devices(); n != before {
		t.Errorf("%d devices after the password was tried, %d before", n, before)
	}
	w.answer(`Anything else`, "")
	w.until(`everthread\.yaml is written`)
	must(t, w.cmd.Process.Kill())
	_ = w.cmd.Wait()
	file, err := os.ReadFile(w.dir + "/everthread.yaml")
	must(t, err)
	if !strings.Contains(string(file), passwordOf("assistant")) || strings.Contains(w.out.String(), "wrong-password") {
		t.Errorf("the configuration is\n%s\nit said\n%s", file, w.out)
	}
}
