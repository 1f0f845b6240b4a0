package echo

import (
	"context"

	"github.com/everthread/everthread/configs/section"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/channel"
)

// Config is channels.echo: an account on a service that passes texts on.
type Config struct {
	Token  section.Secret `yaml:"token"`
	APIURL string         `yaml:"api_url"`
}

// Default returns the configuration without an account.
func Default() *Config { return &Config{APIURL: "https://echo.example"} }

// Key returns "echo".
func (*Config) Key() string { return Name }

// Example returns the section of the commented example.
func (*Config) Example() string {
	return `  echo:
    token: ""                             # of the account
    api_url: "https://echo.example"

`
}

// On reports whether there is a token.
func (c *Config) On() bool { return c.Token != "" }

// Validate checks the address.
func (c *Config) Validate(p *section.Problems, _ string) { p.Web("channels.echo.api_url", c.APIURL) }

// Open returns the channel of the account.
func (c *Config) Open(_ context.Context, h channel.Host) (core.Channel, error) {
	return &Channel{c: *c, http: h.Client(c.APIURL)}, nil
}

// Guide asks for the address and the token.
func (c *Config) Guide(_ string, h channel.Host) channel.Guide {
	return channel.Guide{
		Option: "Echo",
		Fields: []channel.Field{
			{ID: "echo_url", Title: "The address of Echo", Into: &c.APIURL},
			{ID: "echo_token", Title: "Its token", Into: (*string)(&c.Token), Secret: true},
		},
		Try: func(ctx context.Context) (channel.Tried, error) {
			me, err := (&Channel{c: *c, http: h.Client(c.APIURL)}).me(ctx)
			if err != nil {
				return channel.Tried{}, &channel.Fault{Text: "Echo refuses the token ({detail})", Detail: err.Error(),
					Err: err}
			}
			return channel.Tried{Said: "The account is " + me + ".", Name: me, Comment: me, Keys: []string{"token",
				string(c.Token), "api_url", c.APIURL}}, nil
		},
	}
}
