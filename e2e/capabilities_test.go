//go:build e2e

package e2e

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
)

// need is a row of the table in docs/security.md, taken apart.
type need struct{ capability, door, what string }

// needs reads the table.
func needs(t *testing.T) []need {
	t.Helper()
	b, err := os.ReadFile("../docs/security.md")
	must(t, err)
	_, table, _ := strings.Cut(string(b), "<!-- needs:")
	table, _, _ = strings.Cut(table, "<!-- end of needs -->")
	var out []need
	for line := range strings.Lines(table) {
		f := strings.Split(line, "|")
		if len(f) != 5 || strings.Contains(f[1], "---") || strings.TrimSpace(f[1]) == "capability" {
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

// concrete is a route with values in its places, of things that are not there.
func concrete(pattern string) (method, path string) {
	method, path, _ = strings.Cut(pattern, " ")
	return method, strings.NewReplacer("{$}", "", "{id...}", "everthread", "{label}", "2026-11-19", "{section}", "users", "{id}", "999999", "{message}", "999999",
		"{n}", "0", "{user}", "1").Replace(path)
}

// status asks without reading the answer to its end: some of them have none.
func (v *guest) status(method, path, key string) int {
	v.g.t.Helper()
	r := v.request(method, path, strings.NewReader(""))
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := v.Do(r)
	must(v.g.t, err)
	resp.Body.Close()
	return resp.StatusCode
}

// Every route and command, for everybody who might try it: the table holds.
func TestEveryDoorOpensToWhomTheTableSays(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := newTown(t, database(t))
		g := w.start()
		w.addOwner(g)
		w.telegram.Say(bob, "hello") // a member
		w.sent(bob, 1)
		l := w.ledger()
		member := l.lines(`SELECT user_id FROM identities WHERE external = $1`, fmt.Sprint(bob))[0]
		signedIn := func(user string) *guest {
			return g.newGuest(w.signInCode(user))
		}
		nobody := g.newGuest("")
		scopes := []string{"talk", "read", "memory", "admin"}
		keys, members := map[string]string{}, map[string]string{}
		for _, s := range scopes {
			keys[s], _ = w.apiKey("", s)
			if s != "admin" {
				members[s], _ = w.apiKey(member, s)
			}
		}
		closed := func(status int) bool { return status == http.StatusUnauthorized || status == http.StatusForbidden }
		ends := func(what string) bool {
			return strings.Contains(what, "/signout") || strings.Contains(what, "/sessions/end")
		}
		var owner, other *guest
		before := ""
		for _, n := range needs(t) {
			if ends(before) { // these browsers were signed out
				owner = nil
			}
			before = n.what
			method, path := concrete(n.what)
			switch n.door {
			case "page":
				closed := func(status int) bool { // without its code the sign-in refuses everybody
					return status == http.StatusUnauthorized || status == http.StatusForbidden && n.capability != "open"
				}
				if owner == nil || ends(n.what) {
					owner, other = signedIn("1"), signedIn(member)
				}
				if got := nobody.status(method, path, ""); (got == http.StatusUnauthorized) == (n.capability == "open") {
					t.Errorf("%s without a session: %d", n.what, got)
				}
				if got := owner.status(method, path, ""); closed(got) || n.capability == "admin" && got == http.StatusNotFound && !strings.Contains(n.what, "{") {
					t.Errorf("%s for the owner: %d", n.what, got)
				}
				if got := other.status(method, path, ""); n.capability == "admin" && got != http.StatusNotFound || n.capability != "admin" && closed(got) {
					t.Errorf("%s for a member: %d", n.what, got)
				}
				for s, key := range keys {
					if got := nobody.status(method, path, key); (got == http.StatusUnauthorized) == (n.capability == "open") {
						t.Errorf("%s with a key for %s: %d", n.what, s, got)
					}
				}
			case "api", "openai":
				if got := nobody.status(method, path, ""); got != http.StatusUnauthorized {
					t.Errorf("%s without a key: %d", n.what, got)
				}
				if got := signedIn("1").status(method, path, ""); got != http.StatusUnauthorized {
					t.Errorf("%s with a session: %d", n.what, got)
				}
				for _, all := range []map[string]string{keys, members} {
					for s, key := range all {
						if got := nobody.status(method, path, key); closed(got) == (s == n.capability) {
							t.Errorf("%s with a key for %s: %d", n.what, s, got)
						}
					}
				}
			case "command":
				for s, key := range keys {
					_, got := g.request(http.MethodPost, "/api/v1/chat", key, map[string]any{"command": n.what})
					refused := strings.Contains(got, "A program cannot do") || strings.Contains(got, "missing_scope")
					if refused == (s == "talk" && n.capability == "talk") && (s == "talk" || refused) {
						t.Errorf("%s with a key for %s: %s", n.what, s, got)
					}
				}
				if n.capability == "admin" {
					sent := len(w.telegram.Sent(bob))
					w.telegram.Say(bob, n.what+" 1")
					if got := w.sent(bob, sent+1)[sent].Text; !strings.Contains(got, "owner") {
						t.Errorf("%s by a member: %q", n.what, got)
					}
				}
			default:
				t.Errorf("nobody tries the door %s (%s)", n.door, n.what)
			}
		}
		if n := l.count(`SELECT COUNT(*) FROM audit WHERE user_id = $1 AND what = 'command' AND result = 'refused'`, member); n < 3 {
			t.Errorf("%d refused commands of the member are told", n)
		}
	})
}
