//go:build e2e

package road

import (
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/everthread/everthread/core/accounts/service/oauthtest"
	"github.com/everthread/everthread/e2e/e2etest"
)

// A person connects a service with the link that /connect brings in a chat, in a browser in which nobody is signed in.
// The model's call then uses their account, also after a restart, until they end it.
func TestServices_connectedInAChatAndCalled(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w, at := e2etest.NewClock(t, database(t)), oauthtest.New(t, oauthtest.Options{})
		list, err := json.Marshal([]map[string]any{{"name": "tracker", "url": at.URL, "auth": "oauth",
			"roles": []string{"owner", "member"}, "trust_hints": true}})
		e2etest.Must(t, err)
		w.Env = append(w.Env, "EVERTHREAD_AGENT_MCP_SERVERS="+string(list))
		g := w.Start()
		if got := w.Ask("call tracker_whoami {}").Text; !strings.Contains(got, "Error: there is no tool") {
			t.Errorf("before it is connected: got %q", got)
		}
		if got := w.Ask("call service_list {}").Text; !strings.Contains(got, "/connect tracker") {
			t.Errorf("what may be connected: got %q", got)
		}
		if got := w.Ask("/connect").Text; !strings.Contains(got, "tracker") || !strings.Contains(got, "not connected") {
			t.Errorf("/connect lists %q", got)
		}
		said := w.Ask("/connect tracker").Text
		link := regexp.MustCompile(`http\S+/connect\?code=[A-Z0-9]+`).FindString(said)
		if link == "" {
			t.Fatalf("there is no link in %q", said)
		}
		browser := oauthtest.NewBrowser(t)
		if resp, body := browser.Open(link, nil); resp.StatusCode != http.StatusOK || !strings.Contains(body, "Go to tracker") {
			t.Fatalf("the link shows %s: %s", resp.Status, body)
		}
		page, code, _ := strings.Cut(link, "?code=")
		resp, body := browser.Open(page, url.Values{"code": {code}})
		to, ok := strings.CutPrefix(resp.Header.Get("Refresh"), "0; url=")
		if !ok {
			t.Fatalf("the button leads to %s: %s", resp.Status, body)
		}
		back := browser.Consent(at, to, oauthtest.Ada)
		if resp, body := browser.Open(back, nil); resp.StatusCode != http.StatusOK || !strings.Contains(body, "can use tracker now") {
			t.Fatalf("the end is %s: %s\n%s", resp.Status, body, g.Log)
		}
		g.Logged(`MCP server is up.*"tracker"`)
		if got := w.Ask("call tracker_whoami {}").Text; got != "tool said: the account of id1" {
			t.Errorf("got %q\n%s", got, g.Log)
		}
		g.Stop()
		g = w.Start()
		g.Logged(`MCP server is up.*"tracker"`)
		if got := w.Ask("call tracker_whoami {}").Text; got != "tool said: the account of id1" {
			t.Errorf("after a restart: got %q\n%s", got, g.Log)
		}
		if got := w.Ask("/connect tracker remove").Text; !strings.Contains(got, "tracker is disconnected") {
			t.Errorf("got %q", got)
		}
		if got := w.Ask("call tracker_whoami {}").Text; !strings.Contains(got, "Error: there is no tool") || at.Hits("/revoke") != 1 {
			t.Errorf("after it was ended: got %q, with %d revocations", got, at.Hits("/revoke"))
		}
		if strings.Contains(g.Log.String(), code) {
			t.Error("the log has the code of the link")
		}
	})
}
