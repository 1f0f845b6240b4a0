package doctor_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/accounts/service/oauthtest"
)

// TestExamine_services: whether people can connect a service, without registering at it.
func TestExamine_services(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]struct {
		options oauthtest.Options
		spoil   func(c *configs.Config)
		ok      bool
		detail  string
	}{
		"works": {ok: true, detail: "people are asked for access at 127.0.0.1"},
		"registers nobody": {options: oauthtest.Options{NoRegistration: true},
			detail: "with the address http://127.0.0.1:1/connect/back, and set oauth.client_id"},
		"registered by hand": {options: oauthtest.Options{NoRegistration: true}, ok: true, detail: "people are asked",
			spoil: func(c *configs.Config) { c.Agent.MCPServers[0].OAuth.ClientID = "x" }},
		"lies": {options: oauthtest.Options{Metadata: func(m map[string]any) { m["issuer"] = "https://evil.example" }},
			detail: "does not match issuer URL"},
		"no page": {spoil: func(c *configs.Config) { c.Channels.Web.Enabled = false }, detail: "set channels.web.enabled"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at, d := oauthtest.New(t, want.options), newDoctor(t, "en")
			d.Config.Agent.MCPServers = []configs.MCPServer{{Name: "tracker", URL: at.URL, Auth: "oauth"}}
			if want.spoil != nil {
				want.spoil(&d.Config)
			}
			found := d.Examine(t.Context())
			i := slices.IndexFunc(found, func(f core.Finding) bool { return f.Check == "mcp tracker" })
			if i < 0 || found[i].OK != want.ok || !strings.Contains(found[i].Detail, want.detail) {
				t.Errorf("got %+v", found)
			}
			if at.Clients() != 0 {
				t.Errorf("the doctor registered %d clients", at.Clients())
			}
		})
	}
}
