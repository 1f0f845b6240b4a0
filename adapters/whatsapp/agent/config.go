package agent

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/everthread/everthread/configs/section"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/channel"
	"github.com/everthread/everthread/core/text/i18n"
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

func Default() *Config { return &Config{APIURL: publicAPI} }

//go:embed config.yaml
var example string

func (*Config) Key() string { return Name }

func (*Config) Example() string { return example }

// On returns true, as keys can be added at any time.
func (*Config) On() bool { return true }

// Validate checks the URL.
func (c *Config) Validate(p *section.Problems, _ string) {
	p.Web("channels.whatsapp_agent.api_url", c.APIURL)
}

// Listed returns an error: each agent belongs to one user, so nobody else is admitted; see section.Lister.
func (*Config) Listed(string) (string, error) {
	return "", errors.New("a personal agent belongs to the user who added it (`everthread users agent add`)")
}

func (c *Config) Open(_ context.Context, h channel.Host) (core.Channel, error) {
	return New(Options{APIURL: c.APIURL, Store: h.Store, HTTP: h.Client(c.APIURL), Log: h.Log, Now: h.Now}), nil
}

// CheckKey checks with the service a key that is not stored.
func (c *Config) CheckKey(ctx context.Context, h channel.Host, key string) error {
	a := agent{api: newAPI(Options{APIURL: c.APIURL, HTTP: h.Client(c.APIURL)}, key)}
	if err := a.probe(ctx); err != nil {
		return deadKey(err)
	}
	return nil
}

// findings are the texts of Diagnose in one language. The comments list the values for the formatting verbs in order.
type findings struct {
	Terms             string // restrictions of this channel
	None              string
	Agent             string // account, user, finding
	KeyDead, NoState  string // why
	KeyGood, NotBegun string
}

var say = i18n.In[findings]("whatsapp_agent")

// Diagnose checks the keys. It does not poll, which would interrupt the process that does.
func (c *Channel) Diagnose(ctx context.Context, language string) []core.Finding {
	w := say(language)
	agents, err := c.reload(ctx)
	if err != nil {
		return []core.Finding{{Detail: err.Error()}}
	}
	if len(agents) == 0 {
		return []core.Finding{{OK: true, Detail: w.None}}
	}
	var out []core.Finding
	for _, a := range c.all() {
		out = append(out, a.finding(ctx, w))
	}
	return append(out, core.Finding{OK: true, Detail: w.Terms})
}

func (a *agent) finding(ctx context.Context, w *findings) core.Finding {
	said := func(ok bool, what string) core.Finding {
		return core.Finding{OK: ok, Detail: fmt.Sprintf(w.Agent, a.account, a.key.User, what)}
	}
	if err := a.probe(ctx); err != nil {
		return said(false, fmt.Sprintf(w.KeyDead, err))
	}
	creator, err := a.c.opts.Store.Keeper(a.account).State(ctx, creatorKey)
	switch {
	case err != nil:
		return said(false, fmt.Sprintf(w.NoState, err))
	case creator == "":
		return said(true, w.NotBegun)
	}
	return said(true, w.KeyGood)
}
