package gateway

import (
	"context"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
)

// merging is a store whose user 1 is merged into user 2 while an event of theirs is received.
type merging struct {
	Store
	merged bool
	got    []core.UserID
}

func (m *merging) Identify(_ context.Context, a core.Address) (core.Identity, core.User, error) {
	user := core.UserID(1)
	if m.merged {
		user = 2
	}
	return core.Identity{ID: core.IdentityID(10 * user), User: user, Address: a}, core.User{ID: user}, nil
}

func (m *merging) Settle(_ context.Context, user core.UserID, identity core.IdentityID, _ core.Inbound,
	_ time.Time) (*core.Delivery, error) {
	m.got = append(m.got, user)
	if !m.merged {
		m.merged = true
		return nil, core.ErrNotFound
	}
	return nil, nil
}

func TestReceive_fromAUserWhoIsMergedMeanwhile(t *testing.T) {
	t.Parallel()
	m := &merging{}
	g := &Gateway{}
	g.Store, g.Meter, g.Now = m, noMeter{}, func() time.Time { return time.Unix(1, 0) }
	e := core.Inbound{EventID: "1", Kind: core.InReceipt}
	if err := g.Receive(t.Context(), e); err != nil || len(m.got) != 2 || m.got[1] != 2 {
		t.Errorf("got %v, received for %v", err, m.got)
	}
	m.merged, m.got, e.Thread = false, nil, 3 // a thread of user 1, which has another id now
	if err := g.Receive(t.Context(), e); err == nil || len(m.got) != 1 {
		t.Errorf("got %v, received for %v", err, m.got)
	}
}
