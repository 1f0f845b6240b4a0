//go:build e2e

package people

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/e2e/e2etest"
)

// newYes returns a gateway whose model makes the calls that it is asked for, and gives up after a second.
func newYes(t *testing.T, database string) *trusting {
	t.Helper()
	return newTrusting(t, database, func(w *e2etest.Town) {
		w.UseModel(e2etest.StartModel(t, 0))
		w.Env = append(w.Env, "EVERTHREAD_TURN_GIVE_UP_AFTER=1s")
	})
}

// asks makes the model ask whether it may send a mail.
func (x *trusting) asks(to string) {
	x.T.Helper()
	if q := x.Ask(fmt.Sprintf(`call shop_mail {"to":%q}`, to)); !strings.Contains(q.Text, "May I?") {
		x.T.Fatalf("not asked: %s", q.Text)
	}
}

// again has the newest yes answered again on the page, with another text if there is one, and returns the answer.
func (x *trusting) again(v *e2etest.Guest, text string) string {
	x.T.Helper()
	path := "/m/" + x.Ledger().Lines(`SELECT MAX(id) FROM messages WHERE user_id = 1 AND extra LIKE '%"decides":%'`)[0]
	form := url.Values{}
	if path += "/again"; text != "" {
		path, form = strings.Replace(path, "/again", "/edit", 1), url.Values{"text": {text}}
	}
	x.Settle(x.Ledger(), x.g)
	if r, page := v.Post(path, form); r.StatusCode != http.StatusSeeOther {
		x.T.Fatalf("%s: %s: %.300s", path, r.Status, page)
	}
	return x.Receive().Text
}

// TestAttack_aYesIsSpentOnce checks that whatever repeats the turn of a yes replays what its call returned.
func TestAttack_aYesIsSpentOnce(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		x := newYes(t, database(t))
		v := x.g.NewGuest(x.SignInCode("1"))
		x.asks("ann")
		if got := x.Ask("yes").Text; got != "tool said: sent to ann" {
			t.Errorf("after the yes: %s", got)
		}
		for _, text := range []string{"", "", "", "yes, thanks"} {
			if got := x.again(v, text); got != "tool said: sent to ann" {
				t.Errorf("again %q: %s", text, got)
			}
		}
		x.sentMails("after four repetitions", 1)
		x.asks("ben")
		x.Control("/__aimock/chaos", `{"dropRate": 1}`) // the model is down after the call
		if got := x.Ask("yes").Text; !strings.Contains(got, "/retry") {
			t.Errorf("with the model down: %s", got)
		}
		x.sentMails("with the model down", 2)
		x.Control("/__aimock/chaos", "")
		x.Ask("/retry")
		if got := x.Receive().Text; got != "tool said: sent to ben" {
			t.Errorf("after /retry: %s", got)
		}
		x.sentMails("after /retry", 2)
	})
}

// TestAttack_aKilledCallIsNotRepeated checks that a call whose process was killed is unknown to every later turn.
func TestAttack_aKilledCallIsNotRepeated(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		x := newYes(t, database(t))
		x.asks("never") // a call that does not end
		x.Telegram.Say(e2etest.Ada, "yes")
		for deadline := time.Now().Add(e2etest.Patience); x.mails() == 0 && time.Now().Before(deadline); {
			time.Sleep(20 * time.Millisecond) // the call reports nothing
		}
		x.g.Kill()
		x.g = x.Start()
		if got := x.Receive().Text; !strings.Contains(got, "may have taken effect or not") {
			t.Errorf("after the kill: %s", got)
		}
		v := x.g.NewGuest(x.SignInCode("1"))
		if got := x.again(v, ""); !strings.Contains(got, "may have taken effect or not") {
			t.Errorf("again: %s", got)
		}
		x.sentMails("in the end", 1)
	})
}
