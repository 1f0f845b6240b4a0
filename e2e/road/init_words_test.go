//go:build e2e

package road

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/everthread/everthread/adapters/telegram/telegramtest"
	"github.com/everthread/everthread/e2e/e2etest"
)

// The wizard reports the findings of its checks in its own language.
func TestInit_saysFaultsInFrench(t *testing.T) {
	t.Parallel()
	w := newWizard(t)
	w.Env = append(w.Env, "LANG=fr_FR.UTF-8")
	refusing := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter,
		_ *http.Request) {
		rw.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(refusing.Close)
	w.Ask()
	w.Answer(`Quel modèle`, "http://127.0.0.1:1/v1")
	w.Answer(`Sa clé`, "")
	w.Until(
		`Cela n’a pas fonctionné\x{a0}: 127\.0\.0\.1:1 ne répond pas \(la connexion est refusée\)\x{a0}; vérifiez l’adresse`)
	w.Answer(`Quel modèle`, "http://nulle-part.invalid/v1")
	w.Answer(`Sa clé`, "")
	w.Until(`nulle-part\.invalid ne répond pas \(aucune machine ne porte ce nom\)`)
	w.Answer(`Quel modèle`, refusing.URL)
	w.Answer(`Sa clé`, "fausse-cle")
	w.Until(`n’accepte pas cette clé \(401 Unauthorized\)\x{a0}; recopiez-la`)
	w.Until(`Sa clé`)
	e2etest.Must(t, w.Cmd.Process.Kill())
	_ = w.Cmd.Wait()

	w.Ask()
	w.Answer(`Quel modèle`, "demo")
	w.Telegram.Fail("getMe", 1, telegramtest.Failure{Code: http.StatusUnauthorized})
	w.Answer(`jeton`, "123:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")
	w.Until(`Telegram refuse le jeton .*; recopiez-le`)
	w.Answer(`jeton`, "")
	w.Answer(`Autre chose`, "database")
	w.Answer(`adresse de la base`, "mysql://x")
	w.Until(`ce n’est pas l’adresse d’une base`)
	w.Answer(`adresse de la base`, "postgres://u:geheim@127.0.0.1:1/d")
	w.Until(`la base ne répond pas \(la connexion est refusée\)`)
	if strings.Contains(w.Out.String(), "check the") || strings.Contains(w.Out.String(), "geheim") {
		t.Errorf("English, or a secret, in\n%s", w.Out)
	}
	e2etest.Must(t, w.Cmd.Process.Kill())
	_ = w.Cmd.Wait()
}

// The password of a Matrix account is tried on a real homeserver, without leaving a device
// behind.
func TestInit_triesThePasswordOfMatrix(t *testing.T) {
	t.Parallel()
	h := e2etest.NewHomeserver(t, false)
	a := h.Register("assistant")
	devices := func() int {
		t.Helper()
		var out struct{ Devices []any }
		h.Call(http.MethodGet, "/_matrix/client/v3/devices", a.Token, nil, &out)
		return len(out.Devices)
	}
	before := devices()
	w := newWizard(t)
	w.Ask()
	w.Answer(`Which model`, "demo")
	w.Answer(`token of your Telegram bot`, "")
	w.Answer(`Anything else`, "matrix")
	tries := func(server, user, password, want string) {
		t.Helper()
		w.Answer(`The homeserver`, server)
		w.Answer(`assistant's account`, user)
		w.Answer(`Its password`, password)
		w.Until(want)
	}
	tries("http://127.0.0.1:1", a.ID, "x", `127\.0\.0\.1:1 does not answer \(the connection was refused\)`)
	tries(w.Model, a.ID, "x", `is not a homeserver that accepts a password`)
	tries(h.URL, "assistant", "x", `assistant is not an account`)
	tries(h.URL, a.ID, "wrong-password", `the homeserver rejects the password of @assistant:hs\.test`)
	if n := devices(); n != before {
		t.Errorf("%d devices after tries that failed, %d before", n, before)
	}
	tries(h.URL+"/", a.ID, e2etest.PasswordOf("assistant"), `The account can sign in\.`)
	if n := devices(); n != before {
		t.Errorf("%d devices after the password was tried, %d before", n, before)
	}
	w.Answer(`Anything else`, "")
	w.Until(`everthread\.yaml is written`)
	e2etest.Must(t, w.Cmd.Process.Kill())
	_ = w.Cmd.Wait()
	file, err := os.ReadFile(w.Dir + "/everthread.yaml")
	e2etest.Must(t, err)
	if !strings.Contains(string(file), e2etest.PasswordOf("assistant")) ||
		strings.Contains(w.Out.String(), "wrong-password") {
		t.Errorf("the configuration is\n%s\nit said\n%s", file, w.Out)
	}
}
