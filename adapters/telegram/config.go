package telegram

import (
	"context"
	_ "embed"
	"regexp"
	"strings"

	"github.com/everthread/everthread/configs/section"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/channel"
	"github.com/everthread/everthread/core/command"
)

// Config is channels.telegram: a bot of the Bot API. Mode is polling or webhook.
type Config struct {
	Token          section.Secret `yaml:"token"`
	Mode           string         `yaml:"mode"`
	APIURL         string         `yaml:"api_url"`
	WebhookSecret  section.Secret `yaml:"webhook_secret"`
	PreviousSecret section.Secret `yaml:"previous_webhook_secret"`
	RatePerChat    float64        `yaml:"rate_per_chat"`
	RatePerBot     float64        `yaml:"rate_per_bot"`
}

var _ channel.Config = (*Config)(nil)

const publicAPI = "https://api.telegram.org"

// Default returns the configuration without a bot.
func Default() *Config {
	return &Config{Mode: "polling", APIURL: publicAPI, RatePerChat: 1, RatePerBot: 30}
}

//go:embed config.yaml
var example string

// Key returns "telegram".
func (*Config) Key() string { return Name }

// Example returns the section of the commented example.
func (*Config) Example() string { return example }

// On reports whether there is a token.
func (c *Config) On() bool { return c.Token != "" }

// Validate checks the values, if there is a token.
func (c *Config) Validate(p *section.Problems, publicURL string) {
	if !c.On() {
		return
	}
	if !tokenForm.MatchString(string(c.Token)) {
		p.Add("channels.telegram.token is not of the form 123456:ABC; copy it from @BotFather")
	}
	p.OneOf("channels.telegram.mode", c.Mode, "polling", "webhook")
	p.Web("channels.telegram.api_url", c.APIURL)
	section.AtLeast(p, "channels.telegram.rate_per_chat", c.RatePerChat, 0)
	section.AtLeast(p, "channels.telegram.rate_per_bot", c.RatePerBot, 0)
	if c.Mode != "webhook" {
		return
	}
	if !strings.HasPrefix(publicURL, "https://") {
		p.Add("http.public_url must begin with https:// for channels.telegram.mode webhook; Telegram calls it")
	}
	if !secretForm.MatchString(string(c.WebhookSecret)) {
		p.Add(
			"channels.telegram.webhook_secret must be 1 to 256 letters, digits, _ or - for mode webhook; make one with `openssl rand -hex 32`")
	}
}

var (
	tokenForm  = regexp.MustCompile(`^([0-9]{1,20}):[A-Za-z0-9_-]{1,128}$`)
	secretForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,256}$`)
)

// Open returns the channel of the bot.
func (c *Config) Open(_ context.Context, h channel.Host) (core.Channel, error) {
	return New(Options{
		Token:          string(c.Token),
		APIURL:         c.APIURL,
		Mode:           c.Mode,
		WebhookSecret:  string(c.WebhookSecret),
		PreviousSecret: string(c.PreviousSecret),
		PublicURL:      h.PublicURL,
		RatePerChat:    c.RatePerChat,
		RatePerBot:     c.RatePerBot,
		HTTP:           h.Client(c.APIURL),
		Log:            h.Log,
		Now:            h.Now,
		Commands:       commands(),
	})
}

// commands returns the command menu.
func commands() []Command {
	var out []Command
	for _, c := range command.Menu() {
		out = append(out, Command{Name: c.Name, Description: c.Descriptions})
	}
	return out
}
