package people

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/trust"
)

// ownChannels are doors of the gateway itself. People see messages there only when they
// look, and an address there does not prove that it is the owner's.
var ownChannels = []string{"terminal", "web", "openai", "api"}

// Own reports whether a channel is a door of the gateway itself.
func Own(channel string) bool { return slices.Contains(ownChannels, channel) }

// Lengths of the random parts of addresses and links.
const (
	doorSigns = 16
	linkSigns = 24
)

// Door returns a user's identity on a channel of the gateway itself, and creates it if there
// is none.
func (p *People) Door(ctx context.Context, user core.UserID, channel string) (core.Identity, error) {
	if i, err := p.door(ctx, user, channel); !errors.Is(err, core.ErrNotFound) {
		return i, err
	}
	external, err := p.Code(doorSigns)
	if err != nil {
		return core.Identity{}, err
	}
	_, err = p.AddIdentity(ctx, core.Identity{User: user, Address: core.Address{Channel: channel, External: external},
		LastUsed: p.Now()})
	if err != nil {
		return core.Identity{}, fmt.Errorf("make a door on %s: %w", channel, err)
	}
	return p.door(ctx, user, channel) // concurrent callers get the same one
}

func (p *People) door(ctx context.Context, user core.UserID, channel string) (core.Identity, error) {
	ids, err := p.Identities(ctx, user)
	if err != nil {
		return core.Identity{}, err
	}
	ids = slices.DeleteFunc(ids, func(i core.Identity) bool { return i.Address.Channel != channel })
	if len(ids) == 0 {
		return core.Identity{}, core.ErrNotFound
	}
	return slices.MinFunc(ids, func(a, b core.Identity) int { return int(a.ID - b.ID) }), nil
}

// NewWebCode returns a code that signs a user in to the web page once, and the row to store.
func (p *People) NewWebCode(user core.UserID, life time.Duration) (string, core.Code, error) {
	code, err := p.Code(linkSigns)
	now := p.Now()
	return code, core.Code{Kind: core.CodeWeb, Hash: trust.CodeHash(code), User: user, Created: now,
		Expires: now.Add(life)}, err
}
