package sqlstore

import (
	"context"
	"time"

	"github.com/everthread/everthread/core"
)

// AddAPIKey stores a key; see core.APIKeyStore.
func (s *Store) AddAPIKey(ctx context.Context, k core.APIKey) (core.APIKey, error) {
	err := s.updateFrozen(ctx, "add API key", k.User, func(t *tx) { k.ID = t.addKey(k) })
	return k, err
}

// addKey stores a key of the user and returns its id.
func (t *tx) addKey(k core.APIKey) int64 {
	t.requireUser()
	id := t.sharedID()
	t.did(core.AuditKeyMade, "key", id)
	t.putToken(tokenKey, k.Hash, id)
	t.exec(
		`INSERT INTO api_keys (user_id, id, name, hash, hint, scopes, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
		t.user, id, k.Name, k.Hash, k.Hint, text(k.Scopes), ms(k.CreatedAt))
	return id
}

const apiKeyColumns = `api_keys.user_id, api_keys.id, api_keys.name, api_keys.hash, hint, scopes, api_keys.created_at, used_at`

func scanAPIKey(row scanner) (k core.APIKey, err error) {
	return k, found(row.Scan(&k.User, &k.ID, &k.Name, &k.Hash, &k.Hint, asJSON(&k.Scopes), asTime(&k.CreatedAt),
		asTime(&k.UsedAt)))
}

// APIKey returns the key of a hash and its user, or core.ErrNotFound.
func (s *Store) APIKey(ctx context.Context, hash string) (core.APIKey, core.User, error) {
	of, id, err := bearerOf(s.one(ctx), tokenKey, hash)
	if err != nil {
		return core.APIKey{}, core.User{}, wrap("read API key", err)
	}
	var u core.User
	k, err := scanAPIKey(joined{s.one(ctx).row(`SELECT `+apiKeyColumns+`, `+ownerColumns+` FROM api_keys
		JOIN users u ON u.id = $1 AND u.role <> 'none' WHERE api_keys.user_id = $1 AND api_keys.id = $2 AND hash = $3`, of, id, hash), userDest(&u)})
	return k, u, wrap("read API key", err)
}

// APIKeys lists a user's keys, newest first.
func (s *Store) APIKeys(ctx context.Context, user core.UserID) ([]core.APIKey, error) {
	return list(s.one(ctx), scanAPIKey, `SELECT `+apiKeyColumns+` FROM api_keys WHERE user_id = $1 ORDER BY id DESC`, user)
}

// UseAPIKey records when a key was last used.
func (s *Store) UseAPIKey(ctx context.Context, user core.UserID, id int64, at time.Time) error {
	return s.updateFrozen(ctx, "use API key", user, func(t *tx) {
		t.exec(
			`UPDATE api_keys SET used_at = CASE WHEN used_at > $3 THEN used_at ELSE $3 END WHERE user_id = $1 AND id = $2`,
			t.user, id, ms(at))
	})
}

// RevokeAPIKey removes a user's key; see core.APIKeyStore.
func (s *Store) RevokeAPIKey(ctx context.Context, user core.UserID, id int64) error {
	return s.updateFrozen(ctx, "revoke API key", user, func(t *tx) { t.revokeKey(id) })
}

func (t *tx) revokeKey(id int64) {
	t.endBearer(tokenKey, "api_keys", id, core.AuditKeyRevoked, "key")
}

// AddAgentKey stores the key of a personal agent; see core.AgentKeyStore.
func (s *Store) AddAgentKey(ctx context.Context, k core.AgentKey,
	seal func(id int64) (string, error)) (core.AgentKey, error) {
	err := s.updateFrozen(ctx, "add agent key", k.User, func(t *tx) {
		rowOf(t, scanUser, `SELECT `+userColumns+` FROM users WHERE id = $1 AND id > 0`, k.User)
		k.ID = t.sharedID()
		if t.err != nil {
			return
		}
		var err error
		k.Sealed, err = seal(k.ID)
		t.fail(err)
		t.did(core.AuditAgentMade, "agent", k.ID)
		t.exec(`INSERT INTO agent_keys (user_id, id, name, sealed, created_at) VALUES ($1, $2, $3, $4, $5)`, k.User, k.ID, k.Name, k.Sealed, ms(k.CreatedAt))
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
	return s.update(ctx, "remove agent key", user, func(t *tx) {
		t.execOr(core.ErrNotFound, `DELETE FROM agent_keys WHERE user_id = $1 AND id = $2`, t.user, id)
		t.did(core.AuditAgentGone, "agent", id)
	})
}
