package engine

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"fmt"
	"strconv"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/accounts/service"
	"github.com/everthread/everthread/core/channel"
	"github.com/everthread/everthread/core/chat/push"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/trust/secret"
)

// NewServing returns a process that counts outgoing connections for the user who causes
// them, and that uses the clock of a shared database. Wall is compared with that clock.
func NewServing(ctx context.Context, c configs.Config, st Store, log *zap.Logger,
	now, wall func() time.Time) (*Process, error) {
	var agreed *Clock
	if db, ok := st.(DatabaseClock); ok {
		agreed = NewClock(now, wall, db, log.Named("clock"))
		if err := agreed.Measure(ctx); err != nil {
			return nil, err
		}
		now = agreed.Now
	}
	way, err := CountingWayOut(c, st, now)
	return NewProcess(c, st, log, now, way, agreed), err
}

// Hosting opens the channels of a process, and closes the databases that they opened.
type Hosting struct {
	*Process
	databases []*sql.DB
}

// OpenAll opens the configured channels. After an error nothing is open.
func (h *Hosting) OpenAll(ctx context.Context) ([]core.Channel, error) {
	var out []core.Channel
	for _, c := range channel.On(h.Config.Channels.Sections) {
		ch, err := h.Open(ctx, c)
		if err != nil {
			h.Close()
			return nil, fmt.Errorf("channels.%s: %w", c.Key(), err)
		}
		out = append(out, ch)
	}
	return out, nil
}

// Open opens a channel.
func (h *Hosting) Open(ctx context.Context, c channel.Config) (core.Channel, error) {
	host := channel.Host{PublicURL: h.Config.HTTP.PublicURL, Client: h.Way.Client,
		Log: h.Log.Named(c.Key()), Now: h.Now, Rand: rand.Reader, Groups: h.Config.Groups.Enabled}
	if h.Store != nil {
		host.Store = channelStore{h, c.Key()}
	}
	return c.Open(ctx, host)
}

// Close closes the databases that the channels opened. The channels must have ended.
func (h *Hosting) Close() {
	for _, db := range h.databases {
		if err := db.Close(); err != nil {
			h.Log.Warn("database of a channel not closed", zap.Error(err))
		}
	}
}

// channelStore is the storage of one channel. It implements channel.Store.
type channelStore struct {
	*Hosting
	channel string
}

// Keeper returns the state of an account.
func (s channelStore) Keeper(account string) core.Keeper {
	return s.Process.Keeper(AccountName(s.channel, account))
}

// Lease runs f while this process holds the lease of an account.
func (s channelStore) Lease(ctx context.Context, account string, f func(context.Context) error) error {
	return s.While(ctx, AccountName(s.channel, account), f)
}

// Database opens the database once more. Hosting closes it.
func (s channelStore) Database() (*sql.DB, string, error) {
	db, dialect, err := s.Store.Beside()
	if err == nil {
		s.databases = append(s.databases, db)
	}
	return db, dialect, err
}

// Secret returns a secret of an account, generated once and stored encrypted.
func (s channelStore) Secret(ctx context.Context, account, name string, bytes int) ([]byte, error) {
	account, name = AccountName(s.channel, account), "secret."+name
	text, err := s.Process.Keeper(account).State(ctx, name)
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
	// Unfenced: it is generated before anybody holds the account.
	return raw, s.Store.SetState(ctx, account, map[string]string{name: sealed}, store.Fence{})
}

// Keys returns the keys that can be decrypted, and logs the others.
func (s channelStore) Keys(ctx context.Context) ([]channel.Key, error) {
	stored, err := s.Store.AgentKeys(ctx)
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
			s.Log.Warn("key of a personal agent not decrypted; remove it and add it again", zap.Int64("agent", k.ID), zap.Error(err))
			continue
		}
		out = append(out, channel.Key{ID: k.ID, User: k.User, Secret: secret, CreatedAt: k.CreatedAt})
	}
	return out, nil
}

// agentName returns the name under which the key of a personal agent is sealed.
func agentName(id int64) string { return "agent key " + strconv.FormatInt(id, 10) }

// AddAgentKey stores the key of a user's own agent, encrypted.
func AddAgentKey(ctx context.Context, c configs.Config, st store.AgentKeyStore, k store.AgentKey,
	key string) (store.AgentKey, error) {
	s, err := NewSealer(c)
	if err != nil {
		return k, err
	}
	return st.AddAgentKey(ctx, k, func(id int64) (string, error) { return s.Seal(agentName(id), key) })
}

// Resealed returns a function that encrypts sealed values with the current key.
func Resealed(s *secret.Sealer) func(store.Sealed) (string, error) {
	return func(v store.Sealed) (string, error) {
		if s.Current(v.Text) {
			return v.Text, nil
		}
		what := sealedAs(v)
		plain, err := s.Open(what, v.Text)
		if err != nil {
			return "", fmt.Errorf("%s: %w", what, err)
		}
		return s.Seal(what, plain)
	}
}

// sealedAs returns the name under which a stored value was sealed.
func sealedAs(v store.Sealed) string {
	switch v.Kind {
	case store.SealedAgent:
		return agentName(v.Agent)
	case store.SealedState:
		return v.Account + " " + v.Key
	case store.SealedPush:
		return push.SealedAs(v.Agent)
	case store.SealedGrant:
		return service.SealedAs(v.Key)
	}
	return OwnKey
}
