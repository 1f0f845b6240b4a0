package sqlstore

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/audit"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
)

// LinkCode returns the effect that a code would have for an address; see store.LinkStore.
func (s *Store) LinkCode(ctx context.Context, hash string, a core.Address, now time.Time) (store.Link, error) {
	var l store.Link
	err := s.view(ctx, "read link code", func(q querier) (err error) {
		l, err = linkOf(q, hash, a, now)
		return err
	})
	return l, err
}

func linkOf(q reader, hash string, a core.Address, now time.Time) (store.Link, error) {
	l := store.Link{State: store.LinkWrong}
	var err error
	if l.Tries, l.Until, err = triesOf(q, a, now); err != nil {
		return l, err
	}
	if taken, user, err := takenBy(q, hash, a, now); err != nil || taken {
		l.State, l.User = store.LinkTaken, user
		return l, err
	}
	if !l.Until.IsZero() {
		l.State = store.LinkLocked
		return l, nil
	}
	c, err := validCode(q, effect.CodeLink, hash, now)
	if errors.Is(err, core.ErrNotFound) {
		return l, nil
	}
	if err != nil {
		return l, err
	}
	var owner core.UserID
	err = optional(q.row(`SELECT user_id FROM addresses WHERE channel = $1 AND account = $2 AND external = $3`, a.Channel,
		a.Account, a.External).Scan(&owner))
	switch {
	case err != nil:
		return l, err
	case c.Address == a.Chat():
		l.State = store.LinkOwn
	case owner == c.User:
		l.State = store.LinkSame
	default:
		l.State, l.User, l.Merge, l.Made, l.Name = store.LinkValid, c.User, owner != 0, c.Address, c.Name
		err = q.row(`SELECT role = 'owner' FROM users WHERE id = $1`, c.User).Scan(&l.Owner)
	}
	return l, err
}

// triesOf counts the wrong tries of an address; until is not zero while it is locked.
func triesOf(q reader, a core.Address, now time.Time) (n int, until time.Time, err error) {
	var end time.Time
	err = q.row(`SELECT count, until FROM tries WHERE address = $1 AND until > $2`, core.AddressKey(a), ms(now)).Scan(&n, asTime(&end))
	if n >= core.LinkTries {
		until = end
	}
	return n, until, optional(err)
}

// takenBy reports whether an address has used a code.
func takenBy(q reader, hash string, a core.Address, now time.Time) (bool, core.UserID, error) {
	c, err := validCode(q, effect.CodeLinked, hash, now)
	if errors.Is(err, core.ErrNotFound) {
		return false, 0, nil
	}
	return err == nil && c.Address == a.Chat(), c.User, err
}

func validCode(q reader, kind effect.CodeKind, hash string, now time.Time) (effect.Code, error) {
	c, err := codeOf(q, kind, hash)
	if err == nil && !c.Expires.After(now) {
		return effect.Code{}, core.ErrNotFound
	}
	return c, err
}

// UseLink uses a code at a stranger's address; see store.LinkStore.
func (s *Store) UseLink(ctx context.Context, hash string, h store.Hold) error {
	return s.update(ctx, "use link", 0, func(t *tx) {
		if !t.takeIn(h.Event, 0, "done", h.Now) {
			return
		}
		t.useLinkCode(hash, h.Event.Address, h.Event.Name, h.Now)
		if h.Delivery != nil {
			t.deliver(0, *h.Delivery, nil, h.Now)
		}
	})
}

// useLinkCode uses a code at an address, unless the address is locked. The used code is kept with the address and its
// name until it would have expired: its user is asked, and a repeat finds it.
func (t *tx) useLinkCode(hash string, a core.Address, name string, now time.Time) {
	if _, until, err := triesOf(t, a, now); err != nil || !until.IsZero() {
		t.fail(cmp.Or(err, core.ErrRefused))
	}
	c := t.useCode(effect.CodeLink, hash, now)
	if a = a.Chat(); c.Address == a {
		t.fail(core.ErrRefused) // the rollback restores the code
	}
	c.Hint = core.AddressKey(c.Address) // where it was made, and where the question is asked
	c.Kind, c.Address, c.Name = effect.CodeLinked, a, name
	t.putCode(c)
	t.exec(`DELETE FROM tries WHERE address = $1`, core.AddressKey(a))
}

// TryLink counts a wrong try of a stranger; see store.LinkStore.
func (s *Store) TryLink(ctx context.Context, h store.Hold) error {
	return s.update(ctx, "try link", 0, func(t *tx) {
		if !t.takeIn(h.Event, 0, "done", h.Now) {
			return
		}
		t.wrongLink(h.Event.Address, h.Now)
		if h.Delivery != nil {
			t.deliver(0, *h.Delivery, nil, h.Now)
		}
	})
}

// wrongLink counts a wrong try. It does not prolong a lock.
func (t *tx) wrongLink(a core.Address, now time.Time) {
	t.exec(`INSERT INTO tries (address, count, until) VALUES ($1, 1, $2)
		ON CONFLICT (address) DO UPDATE SET count = CASE WHEN tries.until <= $3 THEN 1 ELSE tries.count + 1 END,
			until = CASE WHEN tries.until > $3 AND tries.count >= $4 THEN tries.until ELSE excluded.until END`,
		core.AddressKey(a), ms(now.Add(core.LinkLock)), ms(now), core.LinkTries)
}

// newLink stores a user's linking code and replaces the last one.
func (t *tx) newLink(c effect.Code) {
	t.refuseGroup()
	t.dropCodes(t.user, effect.CodeLink, "")
	c.Kind, c.User = effect.CodeLink, t.user
	t.putCode(c)
}

// useLink uses a code at an address of the user.
func (t *tx) useLink(e effect.UseLink) {
	t.refuseGroup()
	i := rowOf(t, scanIdentity, `SELECT `+identityColumns+
		` FROM identities i WHERE user_id = $1 AND id = $2 AND detached = 0`, t.user, e.Identity)
	c, err := validCode(t, effect.CodeLink, e.Hash, e.At)
	if err != nil || c.User == t.user {
		t.fail(core.ErrRefused)
	}
	t.useLinkCode(e.Hash, i.Address, i.Name, e.At)
}

// acceptLink joins the other side of a used code to the user.
func (t *tx) acceptLink(e effect.AcceptLink) {
	l := e.Subject
	c, err := codeOf(t, effect.CodeLinked, l.Hash)
	if err != nil || c.User != t.user || c.Address != l.Address.Chat() {
		t.fail(cmp.Or(err, core.ErrRefused))
	}
	if l.User == 0 {
		id := t.addIdentity(core.Identity{Address: l.Address, Name: l.Name, LastUsed: e.At}, core.ErrRefused)
		t.did(audit.Link, "identity", int64(id))
		t.dropCodes(0, effect.CodePair, ` AND channel = $3 AND account = $4 AND external = $5`, l.Address.Channel, l.Address.Account, l.Address.External)
		return
	}
	there := valueOf[bool](t, `SELECT EXISTS (SELECT 1 FROM identities WHERE user_id = $1 AND id = $2 AND detached = 0)`, l.User,
		l.Identity)
	if !there {
		t.fail(core.ErrRefused)
	}
	t.askMerge(store.Merge{From: l.User, Into: t.user, Identity: l.Identity, AskedAt: e.At})
	t.did(audit.Link, "user", int64(l.User))
}

// unlink detaches an identity. Its messages still refer to it.
func (t *tx) unlink(id core.IdentityID) {
	t.refuseGroup()
	t.execOr(core.ErrNotFound, `DELETE FROM addresses WHERE user_id = $1 AND identity_id = $2`, t.user, id)
	t.exec(`UPDATE identities SET detached = 1, thread_id = 0 WHERE user_id = $1 AND id = $2`, t.user, id)
	// Sessions that were signed in through it end, and those of unknown origin.
	const through = ` AND identity_id IN ($2, 0)`
	t.dropTokens(tokenSession, "sessions", through, id)
	t.exec(`DELETE FROM sessions WHERE user_id = $1`+through, t.user, id)
}
