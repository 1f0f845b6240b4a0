//go:build e2e

package people

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/everthread/everthread/e2e/e2etest"
)

// need is a parsed row of the table in docs/security.md.
type need struct{ capability, door, what string }

// needs reads the table.
func needs(t *testing.T) []need {
	t.Helper()
	b, err := os.ReadFile("../../docs/security.md")
	e2etest.Must(t, err)
	_, table, _ := strings.Cut(string(b), "<!-- needs:")
	table, _, _ = strings.Cut(table, "<!-- end of needs -->")
	var out []need
	for line := range strings.Lines(table) {
		f := strings.Split(line, "|")
		if len(f) != 5 || strings.Contains(f[1], "---") || strings.TrimSpace(f[1]) == "capability" ||
			strings.HasSuffix(strings.TrimSpace(f[1]), "of a group") { // TestGroups_onTelegram tries those
			continue
		}
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(f[3], -1) {
			out = append(out, need{strings.TrimSpace(f[1]), strings.TrimSpace(f[2]), m[1]})
		}
	}
	if len(out) < 90 {
		t.Fatalf("only %d needs were read", len(out))
	}
	return out
}

// concrete replaces the parameters of a route with ids that do not exist.
func concrete(pattern string) (method, path string) {
	method, path, _ = strings.Cut(pattern, " ")
	return method, strings.NewReplacer("{$}", "", "{id...}", "everthread", "{label}", "2026-11-19", "{section}", "users",
		"{id}", "999999", "{message}", "999999", "{n}", "0", "{user}", "1").Replace(path)
}

// Every route and command permits exactly what the table says, for everybody who might try it.
func TestCapabilities_everyDoorKeepsToTheTable(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewTown(t, database(t))
		g := w.Start()
		w.AddOwner(g)
		w.Telegram.Say(e2etest.Bob, "hello") // a member
		w.Sent(e2etest.Bob, 1)
		l := w.Ledger()
		member := l.Lines(`SELECT user_id FROM identities WHERE external = $1`, fmt.Sprint(e2etest.Bob))[0]
		signedIn := func(user string) *e2etest.Guest {
			return g.NewGuest(w.SignInCode(user))
		}
		nobody := g.NewGuest("")
		scopes := []string{"talk", "read", "memory", "admin"}
		keys, members := map[string]string{}, map[string]string{}
		for _, s := range scopes {
			keys[s], _ = w.APIKey("", s)
			if s != "admin" {
				members[s], _ = w.APIKey(member, s)
			}
		}
		closed := func(status int) bool { return status == http.StatusUnauthorized || status == http.StatusForbidden }
		ends := func(what string) bool {
			return strings.Contains(what, "/signout") || strings.Contains(what, "/sessions/end")
		}
		var owner, other *e2etest.Guest
		before := ""
		for _, n := range needs(t) {
			if ends(before) { // these browsers were signed out
				owner = nil
			}
			before = n.what
			method, path := concrete(n.what)
			switch n.door {
			case "page":
				closed := func(status int) bool { // without its code the sign-in page refuses everybody
					return status == http.StatusUnauthorized || status == http.StatusForbidden && n.capability != "open"
				}
				if owner == nil || ends(n.what) {
					owner, other = signedIn("1"), signedIn(member)
				}
				if got := nobody.Status(method, path, ""); (got == http.StatusUnauthorized) == (n.capability == "open") {
					t.Errorf("%s without a session: %d", n.what, got)
				}
				if got := owner.Status(method, path, ""); closed(got) || n.capability == "admin" && got == http.StatusNotFound &&
					!strings.Contains(n.what, "{") {
					t.Errorf("%s for the owner: %d", n.what, got)
				}
				if got := other.Status(method, path, ""); n.capability == "admin" && got != http.StatusNotFound ||
					n.capability != "admin" && closed(got) {
					t.Errorf("%s for a member: %d", n.what, got)
				}
				for s, key := range keys {
					if got := nobody.Status(method, path, key); (got == http.StatusUnauthorized) == (n.capability == "open") {
						t.Errorf("%s with a key for %s: %d", n.what, s, got)
					}
				}
			case "api", "openai":
				if got := nobody.Status(method, path, ""); got != http.StatusUnauthorized {
					t.Errorf("%s without a key: %d", n.what, got)
				}
				if got := signedIn("1").Status(method, path, ""); got != http.StatusUnauthorized {
					t.Errorf("%s with a session: %d", n.what, got)
				}
				for _, all := range []map[string]string{keys, members} {
					for s, key := range all {
						if got := nobody.Status(method, path, key); closed(got) == (s == n.capability) {
							t.Errorf("%s with a key for %s: %d", n.what, s, got)
						}
					}
				}
			case "command":
				for s, key := range keys {
					_, got := g.Request(http.MethodPost, "/api/v1/chat", key, map[string]any{"command": n.what})
					refused := strings.Contains(got, "A program can't use") || strings.Contains(got, "missing_scope")
					if refused == (s == "talk" && n.capability == "talk") && (s == "talk" || refused) {
						t.Errorf("%s with a key for %s: %s", n.what, s, got)
					}
				}
				if n.capability == "admin" {
					sent := len(w.Telegram.Sent(e2etest.Bob))
					w.Telegram.Say(e2etest.Bob, n.what+" 1")
					if got := w.Sent(e2etest.Bob, sent+1)[sent].Text; !strings.Contains(got, "owner") {
						t.Errorf("%s by a member: %q", n.what, got)
					}
				}
			default:
				t.Errorf("no test for the door %s (%s)", n.door, n.what)
			}
		}
		if n := l.Count(`SELECT COUNT(*) FROM audit WHERE user_id = $1 AND what = 'command' AND result = 'refused'`,
			member); n < 3 {
			t.Errorf("the audit has %d refused commands of the member", n)
		}
	})
}
