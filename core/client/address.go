package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
)

// Account is the account in the addresses of all programs.
const Account = "local"

// People is the part of a store that Join uses.
type People interface {
	Identify(ctx context.Context, a core.Address) (core.Identity, core.User, error)
	AddIdentity(ctx context.Context, i core.Identity) (core.Identity, error)
	MoveIdentity(ctx context.Context, i core.Identity, to core.UserID) error
}

// Address returns the address of a key's program on a channel. Each key has its own.
func (c Caller) Address(channel string) core.Address {
	return core.Address{Channel: channel, Account: Account, External: ofKey + strconv.FormatInt(c.Key.ID, 10)}
}

// ofKey begins the address of a key.
const ofKey = "key-"

// KeyOf returns the key of an address, if it has one.
func KeyOf(a core.Address) (id int64, ok bool) {
	number, ok := strings.CutPrefix(a.External, ofKey)
	if !ok || a.Account != Account {
		return 0, false
	}
	id, err := strconv.ParseInt(number, 10, 64)
	return id, err == nil
}

// Join returns the identity of a program on a channel, and creates it at its first message.
// The identity always belongs to the key's user: if it was moved to another user, it is
// moved back, without its messages.
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

// Threads is the part of a store that Place uses.
type Threads interface {
	// Thread returns a thread; 0: the continuous one.
	Thread(ctx context.Context, user core.UserID, id core.ThreadID) (core.Thread, error)
	// ThreadNamed returns the plain thread that a client calls name, and creates it if there
	// is none.
	ThreadNamed(ctx context.Context, user core.UserID, name string, now time.Time) (core.Thread, error)
}

// Place puts messages into the plain thread with a name, or without a name into the
// continuous thread, and returns that thread (0: the continuous one). A program chooses the
// thread with each message; /thread does not apply to it.
func Place(ctx context.Context, s Threads, i core.Identity, name string, in []core.Inbound,
	now time.Time) (core.ThreadID, error) {
	if name == "" && i.Thread == 0 {
		return 0, nil
	}
	find := func() (core.Thread, error) { return s.Thread(ctx, i.User, 0) }
	if name != "" {
		find = func() (core.Thread, error) { return s.ThreadNamed(ctx, i.User, name, now) }
	}
	t, err := find()
	if err != nil {
		return 0, fmt.Errorf("find the thread: %w", err)
	}
	for n := range in {
		in[n].Thread = t.ID
	}
	return t.ID, nil
}

// AddressBehind returns a function that returns the origin of a request, for a Guard: the
// address of the connection or, if that is one of these proxies (addresses, or networks such
// as 10.0.0.0/8), the last address of X-Forwarded-For that is none of them.
func AddressBehind(proxies []string) (func(r *http.Request) string, error) {
	var trusted []netip.Prefix
	for _, p := range proxies {
		network, err := netip.ParsePrefix(p)
		if a, bad := netip.ParseAddr(p); err != nil && bad == nil {
			network, err = a.Prefix(a.BitLen())
		}
		if err != nil {
			return nil, fmt.Errorf("%q is neither an address nor a network", p)
		}
		trusted = append(trusted, network)
	}
	known := func(s string) bool {
		a, err := netip.ParseAddr(s)
		return err == nil && slices.ContainsFunc(trusted, func(n netip.Prefix) bool { return n.Contains(a.Unmap()) })
	}
	return func(r *http.Request) string {
		from := peer(r)
		chain := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
		for _, hop := range slices.Backward(chain) {
			if hop = strings.TrimSpace(hop); !known(from) || hop == "" {
				break
			}
			from = hop
		}
		return from
	}, nil
}
