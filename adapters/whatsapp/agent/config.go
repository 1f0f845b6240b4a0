package agent

import (
	"context"
	_ "embed"

	"github.com/everthread/everthread/configs/section"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/channel"
)

// Config is channels.whatsapp_agent: the service of personal agents. Their keys are added
// with `everthread users agent add`.
type Config struct {
	APIURL string `yaml:"api_url"`
}

var (
	_ channel.Config     = (*Config)(nil)
	_ channel.KeyChecker = (*Config)(nil)
)

// Default returns the configuration of the public service.
func Default() *Config { return &Config{APIURL: publicAPI} }

//go:embed config.yaml
var example string

// Key returns "whatsapp_agent".
func (*Config) Key() string { return Name }

// Example returns the section of the commented example.
func (*Config) Example() string { return example }

// On returns true, as keys can be added at any time.
func (*Config) On() bool { return true }

// Validate checks the URL.
func (c *Config) Validate(p *section.Problems, _ string) {
	p.Web("channels.whatsapp_agent.api_url", c.APIURL)
}

// Open returns the channel of all personal agents.
func (c *Config) Open(_ context.Context, h channel.Host) (core.Channel, error) {
	if h.Store == nil {
		return c.open(h, keys(nil))
	}
	return c.open(h, h.Store)
}

func (c *Config) open(h channel.Host, s Store) (*Channel, error) {
	return New(Options{APIURL: c.APIURL, Store: s, HTTP: h.Client(c.APIURL), Log: h.Log, Now: h.Now})
}

// CheckKey checks with the service a key that is not stored.
func (c *Config) CheckKey(ctx context.Context, h channel.Host, key string) error {
	ch, err := c.open(h, keys{{ID: 1, User: 1, Secret: key}})
	if err != nil {
		return err
	}
	if _, err := ch.reload(ctx); err != nil {
		return err
	}
	a, err := ch.agent(ctx, "1")
	if err != nil {
		return err
	}
	if err := a.probe(ctx); err != nil {
		return deadKey(err)
	}
	return nil
}

// keys is a Store of keys that are not stored.
type keys []Key

// Keys returns k.
func (k keys) Keys(context.Context) ([]Key, error) { return k, nil }

// Keeper returns a keeper that stores nothing.
func (keys) Keeper(string) core.Keeper { return nothingKept{} }

// Lease calls run.
func (keys) Lease(ctx context.Context, _ string, run func(context.Context) error) error {
	return run(ctx)
}

// nothingKept is a core.Keeper that stores nothing.
type nothingKept struct{}

// State returns "".
func (nothingKept) State(context.Context, string) (string, error) { return "", nil }

// SetState does nothing.
func (nothingKept) SetState(context.Context, map[string]string) error { return nil }
