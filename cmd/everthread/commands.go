package main

import (
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/command"
	"github.com/everthread/everthread/core/people"
)

// newCommands wires the slash commands.
func (a *app) newCommands() *command.Commands {
	c := a.cfg
	return command.New(command.Options{
		Store: a.store, Calendar: a.calendar, Hash: people.Hash, NewCode: a.people.NewLinkCode, Channels: a,
		NewWebLink: a.newWebLink(), Search: a.search, Memory: a.memory, Reminders: a.reminders,
		Defaults: command.Defaults{Language: c.DefaultLanguage, TokensPerDay: c.Limits.TokensPerDay, AllTokensPerDay: allTokensPerDay(c),
			PostForward: c.Summaries.PostForward, Strategy: c.Context.Strategy},
	})
}

// newWebLink makes links to the web page; nil: there is none.
func (a *app) newWebLink() func(core.UserID) (string, core.Code, error) {
	if !a.cfg.Channels.Web.Enabled {
		return nil
	}
	return func(user core.UserID) (string, core.Code, error) {
		code, stored, err := a.people.NewWebCode(user, a.cfg.Channels.Web.LinkLife)
		return signIn(a.cfg, code), stored, err
	}
}
