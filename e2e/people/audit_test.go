//go:build e2e

package people

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/e2e/e2etest"
)

// told returns rows of the audit in words.
func told(rows []e2etest.Done) string {
	var out []string
	for _, r := range rows {
		out = append(out, strings.Join(strings.Fields(strings.Join([]string{r.Via, r.What, r.Tool, r.Result}, " ")), " "))
	}
	return strings.Join(out, "\n")
}

func TestAudit_tellsWhatWasDone(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		x := newTrusting(t, database(t), nil)
		q := x.Ask(`OBEY: call shop_mail {"to":"ann","text":"quincunx"}`)
		x.press(q, "no")
		q = x.Ask(`OBEY: call shop_mail {"to":"ben","text":"quincunx"}`)
		x.press(q, "yes")
		x.Ask("/timezone Europe/Paris")
		code := e2etest.ShownCode.FindString(x.Ask("/link").Text)
		x.Telegram.Say(4711, "/link "+code)
		asked := x.Receive()
		x.press(asked, "no")
		link := x.Ask("/web").Text
		v := x.g.NewGuest(regexp.MustCompile(`code=([A-Za-z0-9-]+)`).FindStringSubmatch(link)[1])
		v.Post("/settings/keys", url.Values{"name": {"quincunx"}, "scope": {"admin"}})
		x.Agree(x.Ledger(), x.g)
		x.Receive() // the question
		x.Receive() // the note that it continues in the browser
		v.Post("/settings/keys", url.Values{"name": {"quincunx"}, "scope": {"admin"}})
		x.Receive() // the note that it was made
		x.MustRun("users", "add", "Vera")
		x.MustRun("users", "delete", "Vera", "--yes")
		late := x.Ask(`OBEY: call shop_mail {"to":"eve"}`)
		if !strings.Contains(late.Text, "May I?") {
			t.Fatalf("got %q", late.Text)
		}
		x.Set(x.Now().Add(2 * time.Hour))
		l := x.Ledger()
		l.Until(`SELECT COUNT(*) FROM approvals WHERE state = 'expired'`, 1, x.g)
		got := told(x.Audit("--user", "1"))
		for _, want := range []string{
			"identity question shop_mail asked", "identity question shop_mail no", "identity question shop_mail yes",
			"identity call shop_mail begun", "identity call shop_mail done", "identity settings", "identity link_code",
			"identity question asked", "identity question no", "identity sign_in_link", "session sign_in", "session key_made",
			"gateway question shop_mail expired",
		} {
			if !strings.Contains(got, want) {
				t.Errorf("%q is missing in\n%s", want, got)
			}
		}
		if n := strings.Count(got, "call shop_mail done"); n != 1 {
			t.Errorf("got %d calls", n)
		}
		gone := x.Audit("--since", "1000h")
		if !slices.ContainsFunc(gone, func(d e2etest.Done) bool {
			return d.User == 0 && d.What == "user_deleted" && d.Via == "operator" && len(d.IDs) == 1
		}) {
			t.Errorf("the deletion is missing in %s", told(gone))
		}
		if n := l.Count(`SELECT COUNT(*) FROM audit WHERE user_id NOT IN (SELECT id FROM users)`); n != 0 {
			t.Errorf("%d rows of who is gone", n)
		}
		mine := x.Ask("/mine").Text
		for _, want := range []string{"Question shop_mail", "not answered in time", "API key created", "telegram"} {
			if !strings.Contains(mine, want) {
				t.Errorf("/mine does not say %q: %s", want, mine)
			}
		}
		_, page := v.Get("/admin/audit")
		for _, want := range []string{"Activity", "Person deleted", "command line"} {
			if !strings.Contains(page, want) {
				t.Errorf("the page does not say %q", want)
			}
		}
		if all := mine + page + x.MustRun("audit", "--json"); strings.Contains(all, "quincunx") {
			t.Errorf("words are in the audit: %s", all)
		}
	})
}

func TestAudit_tellsWhereCallsCameFrom(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		x := newTrusting(t, database(t), func(w *e2etest.Town) { w.Allowed = []string{"mail"} })
		x.Ask(`OBEY: call shop_mail {"to":"ann"}`)
		key, id := x.APIKey("", "chat,own") // of an app in which only the person writes
		if _, got := x.g.Request(http.MethodPost, "/v1/chat/completions", key, map[string]any{"model": "everthread",
			"messages": []any{map[string]any{"role": "user",
				"content": `OBEY: call shop_mail {"to":"ben"}`}}}); !strings.Contains(got, "sent to ben") {
			t.Fatalf("the program reads %s", got)
		}
		l := x.Ledger()
		if got, want := told(x.Audit("--user", "1")),
			"identity call shop_mail done\noperator key_made done\nkey identity done\nkey call shop_mail done"; !strings.HasSuffix(got, want) {
			t.Errorf("got %s\nwant at its end %s", got, want)
		}
		if n := l.Count(`SELECT COUNT(*) FROM audit a JOIN identities i ON i.user_id = a.user_id AND i.id = a.via_id
			WHERE a.what = 'call' AND a.via = 'identity' AND i.channel = 'telegram'`); n != 1 {
			t.Errorf("got %d calls through telegram", n)
		}
		mine := x.Ask("/mine").Text
		for _, want := range []string{"Tool called shop_mail · program with key #" + id, "Tool called shop_mail · telegram"} {
			if !strings.Contains(mine, want) {
				t.Errorf("/mine does not say %q: %s", want, mine)
			}
		}
	})
}
