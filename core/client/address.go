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
	return core.Address{Channel: channel, Account: Account, External: ofKey + strconv.FormatInt(c.Key.ID, 10)}
}

// ofKey begins the address of a key.
const ofKey = "key-"

// KeyOf returns whose address an address is, if it is a key's.
func KeyOf(a core.Address) (id int64, ok bool) {
	number, ok := strings.CutPrefix(a.External, ofKey)
	if !ok || a.Account != Account {
		return 0, false
	}
	id, err := strconv.ParseInt(number, 10, 64)
	return id, err == nil
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

// Threads is what Place needs of a store.
type Threads interface {
	// Thread returns a thread, 0: the continuous one.
	Thread(ctx context.Context, user core.UserID, id core.ThreadID) (core.Thread, error)
	// ThreadNamed returns the plain thread that a client calls name, made if there is none.
	ThreadNamed(ctx context.Context, user core.UserID, name string, now time.Time) (core.Thread, error)
}

// Place puts messages into the plain thread of a name, or, without one, into the
// continuous thread, and returns where that is (0: the continuous one). A program
// says with each message where it goes; /thread moves nothing for it.
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

// AddressBehind returns where a request comes from, for a Guard: the connection,
// or, if that is one of these proxies (addresses, or networks such as 10.0.0.0/8),
// the last address of X-Forwarded-For that is none of them.
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
