//go:build e2e

package e2e

import (
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// done is a row of `everthread audit --json`.
type done struct {
	User   int64   `json:"user_id"`
	ID     int64   `json:"id"`
	Via    string  `json:"via"`
	What   string  `json:"what"`
	Object string  `json:"object"`
	IDs    []int64 `json:"ids"`
	Tool   string  `json:"tool"`
	Result string  `json:"result"`
}

// audit is what was done, the oldest first.
func (w *town) audit(args ...string) []done {
	w.t.Helper()
	var out []done
	must(w.t, json.Unmarshal([]byte(w.mustRun(append([]string{"audit", "--json", "--limit", "1000"}, args...)...)), &out))
	slices.Reverse(out)
	return out
}

// told are rows as words.
func told(rows []done) string {
	var out []string
	for _, r := range rows {
		out = append(out, strings.Join(strings.Fields(strings.Join([]string{r.Via, r.What, r.Tool, r.Result}, " ")), " "))
	}
	return strings.Join(out, "\n")
}

func TestWhatWasDoneIsTold(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		x := newTrusting(t, database(t), nil)
		q := x.ask(`OBEY: call shop_mail {"to":"ann","text":"quincunx"}`)
		x.press(q, "no")
		q = x.ask(`OBEY: call shop_mail {"to":"ben","text":"quincunx"}`)
		x.press(q, "yes")
		x.ask("/timezone Europe/Paris")
		code := shownCode.FindString(x.ask("/link").Text)
		x.telegram.Say(4711, "/link "+code)
		asked := x.receive()
		x.press(asked, "no")
		link := x.ask("/web").Text
		v := x.g.newGuest(regexp.MustCompile(`code=([A-Za-z0-9-]+)`).FindStringSubmatch(link)[1])
		v.post("/settings/keys", url.Values{"name": {"quincunx"}, "scope": {"admin"}})
		x.agree(x.ledger(), x.g)
		x.receive() // the question
		x.receive() // that it goes on in the browser
		v.post("/settings/keys", url.Values{"name": {"quincunx"}, "scope": {"admin"}})
		x.receive() // that it was made
		x.mustRun("users", "add", "Vera")
		x.mustRun("users", "delete", "Vera", "--yes")
		late := x.ask(`OBEY: call shop_mail {"to":"eve"}`)
		if !strings.Contains(late.Text, "May I?") {
			t.Fatalf("got %q", late.Text)
		}
		x.set(x.now().Add(2 * time.Hour))
		l := x.ledger()
		l.until(`SELECT COUNT(*) FROM approvals WHERE state = 'expired'`, 1, x.g)
		got := told(x.audit("--user", "1"))
		for _, want := range []string{
			"identity question shop_mail asked", "identity question shop_mail no", "identity question shop_mail yes", "identity call shop_mail begun", "identity call shop_mail done",
			"identity settings", "identity link_code", "identity question asked", "identity question no", "identity sign_in_link", "session sign_in", "session key_made",
			"gateway question shop_mail expired",
		} {
			if !strings.Contains(got, want) {
				t.Errorf("%q is not told:\n%s", want, got)
			}
		}
		if n := strings.Count(got, "call shop_mail done"); n != 1 {
			t.Errorf("%d calls are told", n)
		}
		gone := x.audit("--since", "1000h")
		if !slices.ContainsFunc(gone, func(d done) bool {
			return d.User == 0 && d.What == "user_deleted" && d.Via == "operator" && len(d.IDs) == 1
		}) {
			t.Errorf("the deletion is not told: %s", told(gone))
		}
		if n := l.count(`SELECT COUNT(*) FROM audit WHERE user_id NOT IN (SELECT id FROM users)`); n != 0 {
			t.Errorf("%d rows of who is gone", n)
		}
		mine := x.ask("/mine").Text
		for _, want := range []string{"Question shop_mail", "nobody answered in time", "Key for a program made", "telegram"} {
			if !strings.Contains(mine, want) {
				t.Errorf("/mine does not say %q: %s", want, mine)
			}
		}
		_, page := v.get("/admin/audit")
		for _, want := range []string{"What was done", "Person deleted", "command line"} {
			if !strings.Contains(page, want) {
				t.Errorf("the page does not say %q", want)
			}
		}
		if all := mine + page + x.mustRun("audit", "--json"); strings.Contains(all, "quincunx") {
			t.Errorf("words are told: %s", all)
		}
	})
}

func TestCallsAreToldWithWhatTheirTurnCameThrough(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		x := newTrusting(t, database(t), func(w *town) { w.allowed = []string{"mail"} })
		x.ask(`OBEY: call shop_mail {"to":"ann"}`)
		key, id := x.apiKey("", "chat")
		if _, got := x.g.request(http.MethodPost, "/v1/chat/completions", key, map[string]any{"model": "everthread",
			"messages": []any{map[string]any{"role": "user", "content": `OBEY: call shop_mail {"to":"ben"}`}}}); !strings.Contains(got, "sent to ben") {
			t.Fatalf("the program reads %s", got)
		}
		l := x.ledger()
		if got, want := told(x.audit("--user", "1")), "identity call shop_mail done\noperator key_made done\nkey identity done\nkey call shop_mail done"; !strings.HasSuffix(got, want) {
			t.Errorf("got %s\nwant at its end %s", got, want)
		}
		if n := l.count(`SELECT COUNT(*) FROM audit a JOIN identities i ON i.user_id = a.user_id AND i.id = a.via_id
			WHERE a.what = 'call' AND a.via = 'identity' AND i.channel = 'telegram'`); n != 1 {
			t.Errorf("%d calls came through telegram", n)
		}
		mine := x.ask("/mine").Text
		for _, want := range []string{"Tool called shop_mail · program with key #" + id, "Tool called shop_mail · telegram"} {
			if !strings.Contains(mine, want) {
				t.Errorf("/mine does not say %q: %s", want, mine)
			}
		}
	})
}
