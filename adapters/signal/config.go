package signal

import (
	"context"
	_ "embed"
	"errors"
	"strings"

	"github.com/everthread/everthread/configs/section"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/channel"
	"github.com/everthread/everthread/core/text"
)

// Config is channels.signal: an account that a daemon of signal-cli serves.
type Config struct {
	APIURL      string  `yaml:"api_url"`
	Account     string  `yaml:"account"`
	RatePerChat float64 `yaml:"rate_per_chat"`
}

var _ channel.Config = (*Config)(nil)

func Default() *Config { return &Config{APIURL: "http://127.0.0.1:8090", RatePerChat: 1} }

//go:embed config.yaml
var example string

func (*Config) Key() string { return Name }

func (*Config) Example() string { return example }

// On reports whether there is an account.
func (c *Config) On() bool { return c.Account != "" }

var (
	numberForm = text.Pattern(`^\+[1-9][0-9]{5,14}$`)
	aciForm    = text.Pattern(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)
)

// Validate checks the values, if there is an account.
func (c *Config) Validate(p *section.Problems, _ string) {
	if !c.On() {
		return
	}
	p.Web("channels.signal.api_url", c.APIURL)
	if !isPerson(c.Account) {
		p.Add("channels.signal.account is %q; write the number with its country like +4930123456, or the account's ACI",
			c.Account)
	}
	section.AtLeast(p, "channels.signal.rate_per_chat", c.RatePerChat, 0)
}

// isPerson reports whether id is an ACI in lower case or a whole phone number.
func isPerson(id string) bool { return aciForm().MatchString(id) || numberForm().MatchString(id) }

// Listed returns an ACI in lower case, or a number without the signs between its digits; see section.Lister.
func (*Config) Listed(who string) (string, error) {
	who = strings.ToLower(strings.TrimSpace(who))
	if strings.HasPrefix(who, "+") {
		who = strings.NewReplacer(" ", "", "-", "", "(", "", ")", "", "/", "").Replace(who)
	}
	if !isPerson(who) {
		return "", errors.New("write the number with its country like signal:+4930123456, or the person's ACI")
	}
	return who, nil
}

func (c *Config) Open(_ context.Context, h channel.Host) (core.Channel, error) {
	opts := Options{Config: *c, HTTP: h.Client(c.APIURL), Log: h.Log, Now: h.Now}
	if h.Store != nil {
		opts.Keeper = h.Store.Keeper(c.Account)
	}
	return New(opts)
}
