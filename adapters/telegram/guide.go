package telegram

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"github.com/go-telegram/bot/models"

	"github.com/everthread/everthread/core/channel"
	"github.com/everthread/everthread/core/text/i18n"
)

var _ channel.Guided = (*Config)(nil)

// wording holds the operators' texts in one language: the guide's and the findings.
type wording struct {
	Title, Help, Hint, NoToken, Bot, NotTelegram, Refused, WebhookElsewhere, PolledElsewhere string

	WebhookFails string // URL, pending updates
	Findings     findings
}

var say = i18n.In[wording]("telegram")

// Guide asks for a bot's token.
func (c *Config) Guide(language string, h channel.Host) channel.Guide {
	w := say(language)
	return channel.Guide{
		Hint: w.Hint,
		Fields: []channel.Field{{ID: "telegram", Title: w.Title, Help: w.Help, Into: (*string)(&c.Token),
			Secret: true, Empty: true, Form: regexp.MustCompile(`^[0-9]+:[A-Za-z0-9_-]+$`), Malformed: w.NoToken}},
		Try: func(ctx context.Context) (channel.Tried, error) { return c.try(ctx, h, w) },
	}
}

// try looks up the bot's name.
func (c *Config) try(ctx context.Context, h channel.Host, w *wording) (channel.Tried, error) {
	a := &api{root: c.APIURL, token: string(c.Token), http: h.Client(c.APIURL)}
	var me models.User
	if _, err := a.look(ctx, "getMe", &me); err != nil {
		var away *netError
		var refused *apiError
		switch {
		case errors.As(err, &away) && away.Left:
			return channel.Tried{}, &channel.Fault{Text: w.NotTelegram, Where: channel.HostOf(c.APIURL),
				Detail: away.Err.Error(), Err: err}
		case errors.As(err, &refused):
			return channel.Tried{}, &channel.Fault{Text: w.Refused, Detail: refused.Description, Err: err}
		case away != nil:
			err = away.Err
		}
		return channel.Tried{}, &channel.Unreached{Where: channel.HostOf(c.APIURL), Err: err}
	}
	bot := fmt.Sprintf(w.Bot, me.Username)
	keys := []string{"token", string(c.Token)}
	if c.APIURL != publicAPI {
		keys = append(keys, "api_url", c.APIURL)
	}
	return channel.Tried{Said: bot, Name: me.Username, Comment: bot, Keys: keys}, nil
}
