package telegram

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"github.com/go-telegram/bot/models"

	"github.com/everthread/everthread/core/channel"
)

var _ channel.Guided = (*Config)(nil)

// guideWords are the words of the guide.
type guideWords struct{ title, help, noToken, bot, notTelegram, refused string }

func guideWordsOf(language string) guideWords {
	if language == "fr" {
		return guideWords{
			title:   "Le jeton de votre bot Telegram",
			help:    "Dans Telegram, écrivez /newbot à @BotFather ; il vous en donne un. Rien : pas de Telegram.",
			noToken: "Ce n’est pas un jeton : il ressemble à 123456789:AAE… et se trouve dans le message de @BotFather.", bot: "Le bot est @%s.",
			notTelegram: "{where} ne répond pas comme Telegram ({detail}) ; vérifiez channels.telegram.api_url",
			refused:     "Telegram refuse le jeton ({detail}) ; recopiez-le, ou demandez-en un nouveau à @BotFather",
		}
	}
	return guideWords{
		title:       "The token of your Telegram bot",
		help:        "In Telegram write /newbot to @BotFather; it gives you one. Nothing: no Telegram.",
		noToken:     "That is no token: it looks like 123456789:AAE… and stands in @BotFather's message.",
		bot:         "The bot is @%s.",
		notTelegram: "{where} does not answer like Telegram ({detail}); check channels.telegram.api_url",
		refused:     "telegram refuses the token ({detail}); copy it once more, or get a new one from @BotFather",
	}
}

// Guide asks for the token of a bot.
func (c *Config) Guide(language string, h channel.Host) channel.Guide {
	w := guideWordsOf(language)
	return channel.Guide{
		Hint: "for Telegram get a token from @BotFather and set channels.telegram.token (EVERTHREAD_CHANNELS_TELEGRAM_TOKEN)",
		Fields: []channel.Field{{ID: "telegram", Title: w.title, Help: w.help,
			Into: (*string)(&c.Token), Secret: true, Empty: true,
			Form: regexp.MustCompile(`^[0-9]+:[A-Za-z0-9_-]+$`), Malformed: w.noToken}},
		Try: func(ctx context.Context) (channel.Tried, error) { return c.try(ctx, h, w) },
	}
}

// try asks for the name of the bot.
func (c *Config) try(ctx context.Context, h channel.Host, w guideWords) (channel.Tried, error) {
	a := &api{root: c.APIURL, token: string(c.Token), http: h.Client(c.APIURL)}
	var me models.User
	if _, err := a.look(ctx, "getMe", &me); err != nil {
		var away *netError
		var refused *apiError
		switch {
		case errors.As(err, &away) && away.Left:
			return channel.Tried{}, &channel.Fault{Text: w.notTelegram, Where: host(c.APIURL),
				Detail: away.Err.Error(), Err: err}
		case errors.As(err, &refused):
			return channel.Tried{}, &channel.Fault{Text: w.refused, Detail: refused.Description, Err: err}
		case away != nil:
			err = away.Err
		}
		return channel.Tried{}, &channel.Unreached{Where: host(c.APIURL), Err: err}
	}
	bot := fmt.Sprintf(w.bot, me.Username)
	keys := []string{"token", string(c.Token)}
	if c.APIURL != publicAPI {
		keys = append(keys, "api_url", c.APIURL)
	}
	return channel.Tried{Said: bot, Name: me.Username, Comment: bot, Keys: keys}, nil
}
