package telegram

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"
	"go.uber.org/zap"
)

// fallbackLanguage is the language of the menu for people without one in their own.
const fallbackLanguage = "en"

// Command is an entry of the command menu. Description is by language; "en" is required,
// and replaces missing ones.
type Command struct {
	Name        string
	Description map[string]string
}

var commandForm = regexp.MustCompile(`^[a-z0-9_]{1,32}$`)

func checkCommands(commands []Command) error {
	if len(commands) > 100 {
		return fmt.Errorf("%d commands, the menu holds 100", len(commands))
	}
	for _, c := range commands {
		if !commandForm.MatchString(c.Name) {
			return fmt.Errorf("command %q: a name is 1 to 32 of a-z, 0-9 and _", c.Name)
		}
		if c.Description[fallbackLanguage] == "" {
			return fmt.Errorf("command %q has no English description", c.Name)
		}
	}
	return nil
}

// announce sets the command menu in every language. A failure is only logged, as the menu
// is a convenience.
func (c *Channel) announce(ctx context.Context) {
	for _, params := range menus(c.opts.Commands) {
		if err := c.api.call(ctx, callTimeout, "setMyCommands", params, nil); err != nil && ctx.Err() == nil {
			c.log.Warn("command menu not set", zap.String("language", params.LanguageCode), zap.Error(err))
			return
		}
	}
}

// menus returns the menu for everybody and one for each further language.
func menus(commands []Command) []*bot.SetMyCommandsParams {
	if len(commands) == 0 {
		return nil
	}
	languages := map[string]bool{}
	for _, c := range commands {
		for l := range c.Description {
			languages[l] = true
		}
	}
	delete(languages, fallbackLanguage)
	out := []*bot.SetMyCommandsParams{{Commands: menu(commands, fallbackLanguage)}}
	for _, l := range slices.Sorted(maps.Keys(languages)) {
		out = append(out, &bot.SetMyCommandsParams{Commands: menu(commands, l), LanguageCode: l})
	}
	return out
}

func menu(commands []Command, language string) []models.BotCommand {
	out := make([]models.BotCommand, len(commands))
	for i, c := range commands {
		d := cmp.Or(c.Description[language], c.Description[fallbackLanguage])
		if r := []rune(d); len(r) > 256 {
			d = string(r[:256])
		}
		out[i] = models.BotCommand{Command: c.Name, Description: d}
	}
	return out
}
