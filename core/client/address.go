package client

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/everthread/everthread/core"
)

// Account is the account of the addresses of all programs.
const Account = "local"

// People is what Join needs of a store.
type People interface {
	Identify(ctx context.Context, a core.Address) (core.Identity, core.User, error)
	AddIdentity(ctx context.Context, i core.Identity) (core.Identity, error)
	MoveIdentity(ctx context.Context, i core.Identity, to core.UserID) error
}

// Address is where a key's program speaks from on a channel: each key has an
// address of its own.
func (c Caller) Address(channel string) core.Address {
	return core.Address{Channel: channel, Account: Account, External: "key-" + strconv.FormatInt(c.Key.ID, 10)}
}

// Join returns the identity of a program on a channel, made at its first
// message. It is always that of the key's user: if it went elsewhere, with what
// came through it, it is taken back, and what came through it stays where it is.
func Join(ctx context.Context, p People, c Caller, channel string, now time.Time) (core.Identity, error) {
	a := c.Address(channel)
	i, _, err := p.Identify(ctx, a)
	if errors.Is(err, core.ErrNotFound) {
		_, err = p.AddIdentity(ctx, core.Identity{User: c.User.ID, Address: a, Name: c.Key.Name, LastUsed: now})
		if err == nil || errors.Is(err, core.ErrExists) {
			i, _, err = p.Identify(ctx, a)
		}
	}
	if err == nil && i.User != c.User.ID {
		if err = p.MoveIdentity(ctx, i, c.User.ID); err == nil {
			i, _, err = p.Identify(ctx, a)
		}
	}
	if err == nil && i.User != c.User.ID {
		err = core.ErrMoving
	}
	if err != nil {
		return core.Identity{}, fmt.Errorf("find the program's identity: %w", err)
	}
	return i, nil
}
