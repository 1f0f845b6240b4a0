package engine

import (
	"context"
	"crypto/rand"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/accounts/service"
	"github.com/everthread/everthread/core/trust/egress"
	"github.com/everthread/everthread/core/trust/secret"
)

// NewServices returns the services that people connect. Nobody is told of anything without a Planner.
func NewServices(c configs.Config, st service.Store, way *egress.Gate, log *zap.Logger,
	now func() time.Time) *service.Services {
	var list []service.Service
	servers := Servers(c.Agent.MCPServers)
	for i, s := range c.Agent.MCPServers {
		if s.Auth == "oauth" {
			list = append(list, service.Service{Name: s.Name, URL: s.URL, ClientID: s.OAuth.ClientID,
				ClientSecret: string(s.OAuth.ClientSecret), Scopes: s.OAuth.Scopes, May: servers[i].May})
		}
	}
	return service.New(service.Options{Services: list, Store: st, Way: way, Language: c.DefaultLanguage,
		Sealer: func() (*secret.Sealer, error) { return NewSealer(c) }, Life: c.Channels.Web.LinkLife,
		Log: log.Named("services"), Now: now, Rand: rand.Reader})
}

// connected has the client of tool servers learn the tools of a service that somebody has connected.
func (e *Engine) connected(user core.UserID) {
	if u, err := e.Store.User(context.Background(), user); err == nil {
		e.servers.Meet(u)
	}
}

// connectLink returns ConnectLink, or nil without a web page.
func (e *Engine) connectLink() func(code string) string {
	if !e.Config.Channels.Web.Enabled {
		return nil
	}
	return func(code string) string { return ConnectLink(e.Config, code) }
}

// ConnectLink returns the URL at which a code begins to connect a service.
func ConnectLink(c configs.Config, code string) string {
	return strings.TrimRight(c.HTTP.PublicURL, "/") + "/connect?code=" + code
}
