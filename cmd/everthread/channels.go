package main

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"fmt"
	"strings"

	"go.uber.org/zap"

	"github.com/everthread/everthread/adapters/matrix"
	"github.com/everthread/everthread/adapters/telegram"
	"github.com/everthread/everthread/adapters/whatsapp"
	"github.com/everthread/everthread/adapters/whatsapp/agent"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/command"
	"github.com/everthread/everthread/core/engine"
)

// channels returns the configured channels: one line for each. What they opened
// is closed by close, after they ended.
func (h *holder) channels(ctx context.Context) (out []core.Channel, shut func(), err error) {
	var opened []*sql.DB
	shut = func() {
		for _, db := range opened {
			if err := db.Close(); err != nil {
				h.log.Warn("close the database of a channel", zap.Error(err))
			}
		}
	}
	c := h.cfg.Channels
	for _, one := range []struct {
		name string
		on   bool
		open func() (core.Channel, error)
	}{
		{"telegram", c.Telegram.Token != "", func() (core.Channel, error) { return h.telegram() }},
		{"whatsapp", c.WhatsApp.PhoneNumberID != "", h.whatsapp},
		{"whatsapp_agent", true, func() (core.Channel, error) { return h.agents() }},
		{"matrix", c.Matrix.UserID != "", func() (core.Channel, error) {
			ch, db, err := h.matrix(ctx)
			if db != nil {
				opened = append(opened, db)
			}
			return ch, err
		}},
	} {
		if !one.on {
			continue
		}
		ch, err := one.open()
		if err != nil {
			shut()
			return nil, func() {}, fmt.Errorf("channels.%s: %w", one.name, err)
		}
		out = append(out, ch)
	}
	return out, shut, nil
}

func (h *holder) telegram() (*telegram.Channel, error) {
	t := h.cfg.Channels.Telegram
	return telegram.New(telegram.Options{Token: string(t.Token), APIURL: t.APIURL, Mode: t.Mode, WebhookSecret: string(t.WebhookSecret),
		PreviousSecret: string(t.PreviousSecret), PublicURL: h.cfg.HTTP.PublicURL, RatePerChat: t.RatePerChat, RatePerBot: t.RatePerBot,
		Way: h.way, Log: h.log.Named("telegram"), Now: h.now, Commands: telegramMenu()})
}

// telegramMenu is the command menu as Telegram wants it.
func telegramMenu() []telegram.Command {
	var out []telegram.Command
	for _, c := range command.Menu() {
		out = append(out, telegram.Command{Name: c.Name, Description: c.Descriptions})
	}
	return out
}

func (h *holder) whatsapp() (core.Channel, error) {
	w := h.cfg.Channels.WhatsApp
	return whatsapp.New(whatsapp.Options{PhoneNumberID: w.PhoneNumberID, AccessToken: string(w.AccessToken), AppSecret: string(w.AppSecret),
		PreviousAppSecret: string(w.PreviousSecret), VerifyToken: string(w.VerifyToken), APIURL: w.APIURL, APIVersion: w.APIVersion,
		SummaryTemplate: w.SummaryTemplate, TemplateLanguage: w.TemplateLanguage, RatePerChat: w.RatePerChat, RatePerNumber: w.RatePerBot,
		Way: h.way, Log: h.log.Named("whatsapp"), Now: h.now, Intake: h.intake})
}

// agents is the channel of all personal agents, on even before the first one.
func (h *holder) agents() (*agent.Channel, error) {
	return agent.New(agent.Options{APIURL: h.cfg.Channels.WhatsAppAgent.APIURL, Keys: agentKeys{h},
		Keeper: func(account string) core.Keeper { return h.Keeper(engine.AccountName(agent.Name, account)) },
		Lease: func(ctx context.Context, account string, run func(context.Context) error) error {
			return h.While(ctx, engine.AccountName(agent.Name, account), run)
		},
		Way: h.way, Log: h.log.Named("whatsapp_agent"), Now: h.now})
}

// agentKeys opens the stored keys of personal agents.
type agentKeys struct{ *holder }

// Keys returns the keys that can be opened; the others are logged.
func (a agentKeys) Keys(ctx context.Context) ([]agent.Key, error) {
	stored, err := a.store.AgentKeys(ctx)
	if err != nil || len(stored) == 0 {
		return nil, err
	}
	s, err := a.Sealer()
	if err != nil {
		return nil, err
	}
	var out []agent.Key
	for _, k := range stored {
		secret, err := s.Open(agentName(k.ID), k.Sealed)
		if err != nil {
			a.log.Warn("the key of a personal agent cannot be read; remove it and add it again", zap.Int64("agent", k.ID), zap.Error(err))
			continue
		}
		out = append(out, agent.Key{ID: k.ID, User: k.User, Secret: secret, CreatedAt: k.CreatedAt})
	}
	return out, nil
}

// matrix returns the channel and the database of its keys, which is to be closed.
func (h *holder) matrix(ctx context.Context) (*matrix.Channel, *sql.DB, error) {
	m := h.cfg.Channels.Matrix
	name := engine.AccountName(matrix.Name, m.UserID)
	pickle, err := h.pickleKey(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	db, dialect, err := h.store.Beside()
	if err != nil {
		return nil, nil, err
	}
	ch, err := matrix.New(matrix.Options{Homeserver: m.Homeserver, UserID: m.UserID, AccessToken: string(m.AccessToken), Password: string(m.Password),
		RecoveryKey: string(m.RecoveryKey), Autojoin: m.Autojoin, Bridges: bridges(m.Bridges), Keeper: h.Keeper(name),
		CryptoDB: db, Dialect: dialect, PickleKey: pickle, RatePerRoom: m.RatePerChat, Way: h.way, Log: h.log.Named("matrix"), Now: h.now, Rand: rand.Reader})
	return ch, db, err
}

// pickleKey is the key of an account's encryption state, made once.
func (h *holder) pickleKey(ctx context.Context, account string) ([]byte, error) {
	const name = "secret.pickle_key"
	k := h.Keeper(account)
	text, err := k.State(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("read the key of the encryption state: %w", err)
	}
	if text != "" {
		return hex.DecodeString(text)
	}
	s, err := h.Sealer()
	if err != nil {
		return nil, err
	}
	raw := make([]byte, 32)
	if _, err := rand.Read(raw); err != nil {
		return nil, err
	}
	sealed, err := s.Seal(account+" "+name, hex.EncodeToString(raw))
	if err != nil {
		return nil, err
	}
	// Unfenced: it is made before anybody holds the account.
	if err := h.store.SetState(ctx, account, map[string]string{name: sealed}, core.Fence{}); err != nil {
		return nil, err
	}
	return raw, nil
}

// bridges reads NETWORK=@BOT:SERVER, as configs has checked it.
func bridges(list []string) []matrix.Bridge {
	var out []matrix.Bridge
	for _, b := range list {
		network, bot, _ := strings.Cut(b, "=")
		out = append(out, matrix.Bridge{Network: network, Bot: bot})
	}
	return out
}
