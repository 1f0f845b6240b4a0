package main

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"fmt"

	"go.uber.org/zap"

	"github.com/everthread/everthread/adapters/matrix"
	"github.com/everthread/everthread/adapters/telegram"
	"github.com/everthread/everthread/adapters/whatsapp"
	"github.com/everthread/everthread/adapters/whatsapp/agent"
	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/configs/section"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/channel"
	"github.com/everthread/everthread/core/engine"
)

// registry are the channels of other services, as their sections of the configuration:
// one line for each.
func registry() []channel.Config {
	return []channel.Config{
		telegram.Default(),
		matrix.Default(),
		whatsapp.Default(),
		agent.Default(),
	}
}

// sections are the sections of the registry.
func sections() []section.Section {
	var out []section.Section
	for _, c := range registry() {
		out = append(out, c)
	}
	return out
}

// configured are the channels of a configuration that are on.
func configured(c configs.Config) []channel.Config {
	var out []channel.Config
	for _, s := range c.Channels.Sections {
		if ch, ok := s.(channel.Config); ok && ch.On() {
			out = append(out, ch)
		}
	}
	return out
}

// hint is how an app is set up by hand, in a language.
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

// channels returns the configured channels. What they opened is closed by shut, after
// they ended.
func (h *holder) channels(ctx context.Context) (out []core.Channel, shut func(), err error) {
	s := &hosted{holder: h}
	for _, c := range configured(h.cfg) {
		ch, err := s.open(ctx, c)
		if err != nil {
			s.close()
			return nil, func() {}, fmt.Errorf("channels.%s: %w", c.Key(), err)
		}
		out = append(out, ch)
	}
	return out, s.close, nil
}

// hosted opens channels and keeps what they opened.
type hosted struct {
	*holder
	opened []*sql.DB
}

func (s *hosted) open(ctx context.Context, c channel.Config) (core.Channel, error) {
	return c.Open(ctx, s.host(c))
}

// host is what a channel is given.
func (s *hosted) host(c channel.Config) channel.Host {
	out := channel.Host{PublicURL: s.cfg.HTTP.PublicURL, Client: s.way.Client, Intake: s.intake,
		Log: s.log.Named(c.Key()), Now: s.now, Rand: rand.Reader}
	if s.store != nil {
		out.Store = channelStore{s, c.Key()}
	}
	return out
}

func (s *hosted) close() {
	for _, db := range s.opened {
		if err := db.Close(); err != nil {
			s.log.Warn("close the database of a channel", zap.Error(err))
		}
	}
}

// channelStore is what a channel keeps.
type channelStore struct {
	*hosted
	channel string
}

// Keeper keeps the state of an account.
func (s channelStore) Keeper(account string) core.Keeper {
	return s.holder.Keeper(engine.AccountName(s.channel, account))
}

// Lease runs f while this process holds an account.
func (s channelStore) Lease(ctx context.Context, account string, f func(context.Context) error) error {
	return s.While(ctx, engine.AccountName(s.channel, account), f)
}

// Database opens the database once more.
func (s channelStore) Database() (*sql.DB, string, error) {
	db, dialect, err := s.store.Beside()
	if err == nil {
		s.opened = append(s.opened, db)
	}
	return db, dialect, err
}

// Secret returns a secret of an account, made once and kept encrypted.
func (s channelStore) Secret(ctx context.Context, account, name string, bytes int) ([]byte, error) {
	account, name = engine.AccountName(s.channel, account), "secret."+name
	text, err := s.holder.Keeper(account).State(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("read %s of %s: %w", name, account, err)
	}
	if text != "" {
		return hex.DecodeString(text)
	}
	by, err := s.Sealer()
	if err != nil {
		return nil, err
	}
	raw := make([]byte, bytes)
	if _, err := rand.Read(raw); err != nil {
		return nil, err
	}
	sealed, err := by.Seal(account+" "+name, hex.EncodeToString(raw))
	if err != nil {
		return nil, err
	}
	// Unfenced: it is made before anybody holds the account.
	return raw, s.store.SetState(ctx, account, map[string]string{name: sealed}, core.Fence{})
}

// Keys returns the keys that can be opened; the others are logged.
func (s channelStore) Keys(ctx context.Context) ([]channel.Key, error) {
	stored, err := s.store.AgentKeys(ctx)
	if err != nil || len(stored) == 0 {
		return nil, err
	}
	by, err := s.Sealer()
	if err != nil {
		return nil, err
	}
	var out []channel.Key
	for _, k := range stored {
		secret, err := by.Open(agentName(k.ID), k.Sealed)
		if err != nil {
			s.log.Warn("the key of a personal agent cannot be read; remove it and add it again", zap.Int64("agent",
				k.ID), zap.Error(err))
			continue
		}
		out = append(out, channel.Key{ID: k.ID, User: k.User, Secret: secret, CreatedAt: k.CreatedAt})
	}
	return out, nil
}
