package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/channel"
	"github.com/everthread/everthread/core/trust/egress"
)

// Agents manages the keys of users' own WhatsApp agents.
type Agents struct{ *Engine }

// List lists a user's agents, oldest first.
func (a Agents) List(ctx context.Context, user core.UserID) ([]core.PersonalAgent, error) {
	keys, err := a.Store.AgentKeys(ctx)
	if err != nil {
		return nil, err
	}
	health := map[string]error{}
	for _, ch := range a.Channels {
		if accounts, ok := ch.(core.AccountChecker); ok {
			maps.Copy(health, accounts.CheckAccounts())
		}
	}
	var out []core.PersonalAgent
	for _, k := range keys {
		if k.User == user {
			out = append(out, core.PersonalAgent{ID: k.ID, Name: k.Name, Since: k.CreatedAt,
				Err: health[strconv.FormatInt(k.ID, 10)]})
		}
	}
	return out, nil
}

// Check tries a key with the service. The error says in words what is wrong with it.
func (a Agents) Check(ctx context.Context, key string) error {
	for _, c := range channel.On(a.Config.Channels.Sections) {
		if k, ok := c.(channel.KeyChecker); ok {
			return k.CheckKey(ctx, channel.Host{Client: (*egress.Gate)(nil).Client, Now: a.Now}, key)
		}
	}
	return errors.New("no channel has keys of people")
}

// Add stores a key, encrypted, and has its channel take it up.
func (a Agents) Add(ctx context.Context, user core.UserID, name, key string, now time.Time) error {
	_, err := AddAgentKey(ctx, a.Config, a.Store, core.AgentKey{User: user, Name: name, CreatedAt: now}, key)
	if err != nil {
		return fmt.Errorf("store the key: %w", err)
	}
	a.RefreshAccounts()
	return nil
}

// Remove removes a user's agent, or is core.ErrNotFound.
func (a Agents) Remove(ctx context.Context, user core.UserID, id int64) error {
	if err := a.Store.RemoveAgentKey(ctx, user, id); err != nil {
		return err
	}
	a.RefreshAccounts()
	return nil
}
