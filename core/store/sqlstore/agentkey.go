package sqlstore

import (
	"context"

	"github.com/everthread/everthread/core"
)

// AddAgentKey stores the key of a personal agent; see core.AgentKeyStore.
func (s *Store) AddAgentKey(ctx context.Context, k core.AgentKey,
	seal func(id int64) (string, error)) (core.AgentKey, error) {
	err := s.updateFrozen(ctx, "add agent key", k.User, func(t *tx) (err error) {
		if _, err := scanUser(t.row(`SELECT `+userColumns+` FROM users WHERE id = $1 AND id > 0`, k.User)); err != nil {
			return err
		}
		if k.ID, err = t.sharedID(); err != nil {
			return err
		}
		if k.Sealed, err = seal(k.ID); err != nil {
			return err
		}
		if err := t.did(core.AuditAgentMade, "agent", k.ID); err != nil {
			return err
		}
		return t.exec(`INSERT INTO agent_keys (user_id, id, name, sealed, created_at) VALUES ($1, $2, $3, $4, $5)`,
			k.User, k.ID, k.Name, k.Sealed, ms(k.CreatedAt))
	})
	return k, err
}

// AgentKeys lists the keys of all users; see core.AgentKeyStore.
func (s *Store) AgentKeys(ctx context.Context) ([]core.AgentKey, error) {
	scan := fields(func(k *core.AgentKey) []any { return []any{&k.User, &k.ID, &k.Name, &k.Sealed, asTime(&k.CreatedAt)} })
	return list(s.one(ctx), scan, `SELECT user_id, id, name, sealed, created_at FROM agent_keys ORDER BY user_id, id`)
}

// RemoveAgentKey removes a user's key; see core.AgentKeyStore.
func (s *Store) RemoveAgentKey(ctx context.Context, user core.UserID, id int64) error {
	return s.update(ctx, "remove agent key", user, func(t *tx) error {
		err := t.execOr(core.ErrNotFound, `DELETE FROM agent_keys WHERE user_id = $1 AND id = $2`, t.user, id)
		if err != nil {
			return err
		}
		return t.did(core.AuditAgentGone, "agent", id)
	})
}
