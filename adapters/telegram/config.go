package telegram

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-telegram/bot/models"
	"go.uber.org/zap"

	"github.com/everthread/everthread/configs/section"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/channel"
	"github.com/everthread/everthread/core/chat/command"
	"github.com/everthread/everthread/core/text"
	"github.com/everthread/everthread/core/text/i18n"
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

func Default() *Config {
	return &Config{Mode: "polling", APIURL: publicAPI, RatePerChat: 1, RatePerBot: 30}
}

//go:embed config.yaml
var example string

func (*Config) Key() string { return Name }

func (*Config) Example() string { return example }

// On reports whether there is a token.
func (c *Config) On() bool { return c.Token != "" }

// Validate checks the values, if there is a token.
func (c *Config) Validate(p *section.Problems, publicURL string) {
	if !c.On() {
		return
	}
	c.validate(p)
	if c.Mode == "webhook" && !strings.HasPrefix(publicURL, "https://") {
		p.Add("http.public_url must begin with https:// for channels.telegram.mode webhook; Telegram calls it")
	}
}

// Listed returns the number of an account; see section.Lister. Names can be given away, so they list nobody.
func (*Config) Listed(who string) (string, error) {
	who = strings.TrimSpace(who)
	if n, err := strconv.ParseInt(who, 10, 64); err != nil || n <= 0 {
		return "", errors.New("people on Telegram are known by a number, not by a name; write it like telegram:123456")
	}
	return who, nil
}

// validate checks the values of a bot.
func (c *Config) validate(p *section.Problems) {
	if !tokenForm().MatchString(string(c.Token)) {
		p.Add("channels.telegram.token is not of the form 123456:ABC; copy it from @BotFather")
	}
	p.OneOf("channels.telegram.mode", c.Mode, "polling", "webhook")
	p.Web("channels.telegram.api_url", c.APIURL)
	section.AtLeast(p, "channels.telegram.rate_per_chat", c.RatePerChat, 0)
	section.AtLeast(p, "channels.telegram.rate_per_bot", c.RatePerBot, 0)
	if c.Mode == "webhook" && !secretForm().MatchString(string(c.WebhookSecret)) {
		p.Add("channels.telegram.webhook_secret must be 1 to 256 letters, digits, _ or - for mode webhook; make one with `openssl rand -hex 32`")
	}
}

var (
	tokenForm  = text.Pattern(`^[0-9]{1,20}:[A-Za-z0-9_-]{1,128}$`)
	secretForm = text.Pattern(`^[A-Za-z0-9_-]{1,256}$`)
)

func (c *Config) Open(_ context.Context, h channel.Host) (core.Channel, error) {
	return New(Options{Config: *c, PublicURL: h.PublicURL, HTTP: h.Client(c.APIURL), Log: h.Log, Now: h.Now,
		Commands: command.Menu(), Groups: h.Groups})
}

// fallbackLanguage is the language of the menu for people without one in their own.
const fallbackLanguage = i18n.English

// announce sets the command menus. A failure is only logged, as a menu is a convenience.
func (c *Channel) announce(ctx context.Context) {
	for _, m := range c.menus() {
		method := "setMyCommands"
		if len(m.Commands) == 0 {
			method = "deleteMyCommands"
		}
		if err := c.api.call(ctx, callTimeout, method, m, nil); err != nil && ctx.Err() == nil {
			c.log.Warn("command menu not set", zap.String("language", m.Language), zap.Error(err))
			return
		}
	}
}

// commandMenu is what the service shows, in a language, of a scope: of all chats without a menu of their own, of groups,
// or of groups' administrators. In the types of go-telegram/bot a scope works in forms only.
type commandMenu struct {
	Commands []models.BotCommand `json:"commands,omitempty"`
	Scope    *menuScope          `json:"scope,omitempty"`
	Language string              `json:"language_code,omitempty"` // "": for those without one in their own
}

type menuScope struct {
	Type string `json:"type"`
}

// menus returns the menu of each scope in each language. Those of groups have no commands unless there are groups.
func (c *Channel) menus() []commandMenu {
	all := c.opts.Commands
	if len(all) == 0 {
		return nil
	}
	languages := map[string]bool{"": true}
	for _, e := range all {
		for l := range e.Descriptions {
			languages[l] = true
		}
	}
	delete(languages, fallbackLanguage)
	in := func(standings ...string) []command.Entry {
		return slices.DeleteFunc(slices.Clone(all), func(e command.Entry) bool {
			return !c.opts.Groups || !slices.Contains(standings, e.Group)
		})
	}
	var out []commandMenu
	for _, l := range slices.Sorted(maps.Keys(languages)) {
		out = append(out, commandMenu{menu(all, l), nil, l},
			commandMenu{menu(in("members"), l), &menuScope{"all_group_chats"}, l},
			commandMenu{menu(in("members", "admins"), l), &menuScope{"all_chat_administrators"}, l})
	}
	return out
}

func menu(commands []command.Entry, language string) []models.BotCommand {
	out := make([]models.BotCommand, len(commands))
	for i, c := range commands {
		d := cmp.Or(c.Descriptions[language], c.Descriptions[fallbackLanguage])
		if r := []rune(d); len(r) > 256 {
			d = string(r[:256])
		}
		out[i] = models.BotCommand{Command: c.Name, Description: d}
	}
	return out
}
