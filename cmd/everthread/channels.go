package main

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/everthread/everthread/adapters/matrix"
	"github.com/everthread/everthread/adapters/signal"
	"github.com/everthread/everthread/adapters/telegram"
	"github.com/everthread/everthread/adapters/whatsapp"
	"github.com/everthread/everthread/adapters/whatsapp/agent"
	"github.com/everthread/everthread/configs/section"
	"github.com/everthread/everthread/core/channel"
)

// registry returns the channels of other services, as their sections of the configuration: one line each.
func registry() []channel.Config {
	return []channel.Config{
		telegram.Default(),
		matrix.Default(),
		signal.Default(),
		whatsapp.Default(),
		agent.Default(),
	}
}

func sections() []section.Section {
	return views(registry(), func(c channel.Config) section.Section { return c })
}

// hint says in a language how an app is set up by hand.
func hint(language string) string {
	for _, c := range registry() {
		if g, ok := c.(channel.Guided); ok {
			if hint := g.Guide(language, channel.Host{}).Hint; hint != "" {
				return hint
			}
		}
	}
	return say(language).Hint
}

// makeTables makes the tables that libraries of channels keep in a database.
func makeTables(ctx context.Context, db *sql.DB, dialect string) error {
	for _, c := range registry() {
		if t, ok := c.(channel.Tabler); ok {
			if err := t.MakeTables(ctx, db, dialect); err != nil {
				return fmt.Errorf("make the tables of %s: %w", c.Key(), err)
			}
		}
	}
	return nil
}
