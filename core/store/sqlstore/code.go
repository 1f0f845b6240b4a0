package sqlstore

import (
	"context"
	"errors"
	"time"

	"github.com/everthread/everthread/core"
)

// PutCode stores a code; of CodeOwner there is at most one.
func (s *Store) PutCode(ctx context.Context, c core.Code) error {
	if c.Kind == core.CodeWeb {
		return s.updateFrozen(ctx, "put code", c.User, func(t *tx) error {
			return errors.Join(t.newWebLink(c), t.did(core.AuditSignInLink, "user", int64(t.user)))
		})
	}
	if c.Kind != core.CodeOwner {
		return s.transact(ctx, "put code", tx{unlocked: true}, func(t *tx) error { return t.putCode(c) })
	}
	return s.update(ctx, "put code", 0, func(t *tx) error {
		if err := t.dropCodes(0, core.CodeOwner, ""); err != nil {
			return err
		}
		return t.putCode(c)
	})
}

func (t *tx) putCode(c core.Code) error {
	err := t.exec(`INSERT INTO tokens (kind, hash, user_id) VALUES ($1, $2, $3)`, string(c.Kind), c.Hash, c.User)
	if err != nil {
		return err
	}
	return t.exec(`INSERT INTO codes (user_id, kind, hash, hint, channel, account, external, name, created_at, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`, c.User, string(c.Kind), c.Hash, c.Hint,
		c.Address.Channel, c.Address.Account, c.Address.External, c.Name, ms(c.Created), ms(c.Expires))
}

const codeColumns = `kind, hash, hint, user_id, channel, account, external, name, created_at, expires_at`

func scanCode(row scanner) (c core.Code, err error) {
	return c, found(row.Scan(&c.Kind, &c.Hash, &c.Hint, &c.User, &c.Address.Channel, &c.Address.Account,
		&c.Address.External, &c.Name, asTime(&c.Created), asTime(&c.Expires)))
}

// Codes lists valid codes of a kind, oldest first.
func (s *Store) Codes(ctx context.Context, kind core.CodeKind, now time.Time) ([]core.Code, error) {
	return list(s.one(ctx), scanCode, `SELECT `+codeColumns+
		` FROM codes WHERE kind = $1 AND (expires_at = 0 OR expires_at > $2) ORDER BY created_at`, string(kind), ms(now))
}

// UseCode uses up a code and returns it.
func (s *Store) UseCode(ctx context.Context, kind core.CodeKind, hash string, now time.Time) (core.Code, error) {
	var c core.Code
	err := s.transact(ctx, "use code", tx{unlocked: true}, func(t *tx) (err error) {
		c, err = t.useCode(kind, hash, now)
		return err
	})
	return c, err
}

func (t *tx) useCode(kind core.CodeKind, hash string, now time.Time) (core.Code, error) {
	var user core.UserID
	err := found(t.row(`DELETE FROM tokens WHERE kind = $1 AND hash = $2 RETURNING user_id`,
		string(kind), hash).Scan(&user))
	var c core.Code
	if err == nil {
		c, err = scanCode(t.row(
			`DELETE FROM codes WHERE user_id = $4 AND kind = $1 AND hash = $2 AND (expires_at = 0 OR expires_at > $3) RETURNING `+codeColumns,
			string(kind), hash, ms(now), user))
	}
	if errors.Is(err, core.ErrNotFound) {
		return c, core.ErrRefused
	}
	return c, err
}
