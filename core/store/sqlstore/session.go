package sqlstore

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/audit"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
)

// newWebLink stores a code that signs the user in to the web page.
func (t *tx) newWebLink(c effect.Code) {
	t.requirePerson()
	c.Kind, c.User = effect.CodeWeb, t.user
	t.putCode(c)
}

// requirePerson fails with core.ErrNotFound for strangers and for merged users, and with core.ErrRefused for a group,
// which nobody signs in as and which has nothing of a person.
func (t *tx) requirePerson() {
	t.refuseGroup()
	rowOf(t, scanUser, `SELECT `+userColumns+` FROM users WHERE id = $1 AND id > 0 AND role <> 'none'`, t.user)
}

// refuseGroup fails with core.ErrRefused for a group.
func (t *tx) refuseGroup() {
	if t.role == string(core.RoleGroup) {
		t.fail(core.ErrRefused)
	}
}

// sharedID returns an id that is unique among all users. It locks user 0, after which no other user may be locked.
func (t *tx) sharedID() (id int64) {
	t.asUser(0, func(zero *tx) { id = zero.nextID() })
	return id
}

// sessionID derives the id of a session from the hash of its token. It is unique among all
// users without locking a counter.
func sessionID(hash string) int64 {
	sum := sha256.Sum256([]byte(hash))
	return int64(binary.BigEndian.Uint64(sum[:])>>12) | 1<<52
}

// SignIn starts a session by a code; see store.SessionStore. If a merge gives the code to
// another user meanwhile, that user is signed in.
func (s *Store) SignIn(ctx context.Context, codeHash string, n store.Session, now time.Time) (store.Session, error) {
	for {
		c, err := s.Code(ctx, effect.CodeWeb, codeHash, now)
		if err == nil {
			n.User = c.User
			n.ID, err = s.signIn(ctx, codeHash, n, now)
		}
		switch {
		case errors.Is(err, core.ErrChanged):
			continue
		case errors.Is(err, core.ErrNotFound):
			return store.Session{}, core.ErrRefused
		case err != nil:
			return store.Session{}, wrap("sign in", err)
		}
		return n, nil
	}
}

// signIn stores a session of n.User; core.ErrChanged if the code belongs to another user by now.
func (s *Store) signIn(ctx context.Context, codeHash string, n store.Session, now time.Time) (id int64, err error) {
	err = s.update(ctx, "use code", n.User, func(t *tx) {
		t.refuseGroup()
		c := t.useCode(effect.CodeWeb, codeHash, now)
		if c.User != t.user {
			t.fail(core.ErrChanged)
		}
		id = sessionID(n.Hash)
		t.audit(audit.Row{At: now, Via: core.ViaSession, ViaID: id, What: audit.SignIn, Object: "session",
			IDs: []int64{id}})
		t.putToken(tokenSession, n.Hash, id)
		t.exec(`INSERT INTO sessions (user_id, id, hash, browser, created_at, used_at, expires_at, identity_id) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
			t.user, id, n.Hash, n.Browser, ms(n.CreatedAt), ms(n.UsedAt), ms(n.Expires),
			t.identityAt(c.Address))
	})
	return id, err
}

const sessionColumns = `sessions.user_id, sessions.id, sessions.hash, browser, sessions.created_at, used_at, expires_at, identity_id, push, push_texts, push_failed, push_error`

func scanSession(row scanner) (n store.Session, err error) {
	return n, found(row.Scan(&n.User, &n.ID, &n.Hash, &n.Browser, asTime(&n.CreatedAt), asTime(&n.UsedAt),
		asTime(&n.Expires), &n.Identity, &n.Push.Sealed, &n.Push.Texts, asTime(&n.Push.FailedAt), &n.Push.Error))
}

// SignsIn returns the user and the expiry of a code; see store.SessionStore.
func (s *Store) SignsIn(ctx context.Context, codeHash string, now time.Time) (core.User, time.Time, error) {
	c, err := s.Code(ctx, effect.CodeWeb, codeHash, now)
	if err != nil {
		return core.User{}, time.Time{}, err
	}
	u, err := s.User(ctx, c.User)
	return u, c.Expires, err
}

// Session returns the session of a token's hash; see store.SessionStore.
func (s *Store) Session(ctx context.Context, hash string, now time.Time) (store.Session, core.User, error) {
	of, id, err := bearerOf(s.one(ctx), tokenSession, hash)
	if err != nil {
		return store.Session{}, core.User{}, wrap("read session", err)
	}
	var u core.User
	n, err := scanSession(joined{s.one(ctx).row(`SELECT `+sessionColumns+`, `+ownerColumns+` FROM sessions
		JOIN users u ON u.id = $1 AND u.role <> 'none' WHERE sessions.user_id = $1 AND sessions.id = $2 AND hash = $3 AND expires_at > $4`,
		of, id, hash, ms(now)), userDest(&u)})
	return n, u, wrap("read session", err)
}

// ownerColumns are userColumns of a joined user u.
const ownerColumns = `u.id, u.name, u.role, u.settings, u.standing, u.services, u.created_at`

// UseSession records when a session was last used, and extends it.
func (s *Store) UseSession(ctx context.Context, user core.UserID, id int64, used, expires time.Time) error {
	return s.update(ctx, "use session", user, func(t *tx) {
		t.exec(`UPDATE sessions SET used_at = CASE WHEN used_at > $3 THEN used_at ELSE $3 END, expires_at = $4 WHERE user_id = $1 AND id = $2`,
			t.user, id, ms(used), ms(expires))
	})
}

// Sessions lists a user's sessions that have not expired, last used first.
func (s *Store) Sessions(ctx context.Context, user core.UserID, now time.Time) ([]store.Session, error) {
	return list(s.one(ctx), scanSession, `SELECT `+sessionColumns+
		` FROM sessions WHERE user_id = $1 AND expires_at > $2 ORDER BY used_at DESC, id DESC`, user, ms(now))
}

// EndSession ends a user's session, or all of them if id is 0.
func (s *Store) EndSession(ctx context.Context, user core.UserID, id int64) error {
	return s.update(ctx, "end session", user, func(t *tx) {
		t.dropTokens(tokenSession, "sessions", ` AND (id = $2 OR $2 = 0)`, id)
		gone := listOf(t, column[int64], `DELETE FROM sessions WHERE user_id = $1 AND (id = $2 OR $2 = 0) RETURNING id`, t.user, id)
		if len(gone) > 0 {
			t.did(audit.SignOut, "session", gone...)
		}
	})
}

// endSession signs a browser out.
func (t *tx) endSession(id int64) {
	t.endBearer(tokenSession, "sessions", id, audit.SignOut, "session")
}

// endBearer removes a session or key from its table, with its token.
func (t *tx) endBearer(kind, table string, id int64, what audit.What, object string) {
	t.dropTokens(kind, table, ` AND id = $2`, id)
	t.execOr(core.ErrNotFound, `DELETE FROM `+table+` WHERE user_id = $1 AND id = $2`, t.user, id)
	t.did(what, object, id)
}

// AddAPIKey stores a key; see store.APIKeyStore.
func (s *Store) AddAPIKey(ctx context.Context, k core.APIKey) (core.APIKey, error) {
	err := s.update(ctx, "add API key", k.User, func(t *tx) { k.ID = t.addKey(k) })
	return k, err
}

// addKey stores a key of the user and returns its id.
func (t *tx) addKey(k core.APIKey) int64 {
	t.requirePerson()
	id := t.sharedID()
	t.did(audit.KeyMade, "key", id)
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
	return s.update(ctx, "use API key", user, func(t *tx) {
		t.exec(
			`UPDATE api_keys SET used_at = CASE WHEN used_at > $3 THEN used_at ELSE $3 END WHERE user_id = $1 AND id = $2`,
			t.user, id, ms(at))
	})
}

// RevokeAPIKey removes a user's key; see store.APIKeyStore.
func (s *Store) RevokeAPIKey(ctx context.Context, user core.UserID, id int64) error {
	return s.update(ctx, "revoke API key", user, func(t *tx) { t.revokeKey(id) })
}

func (t *tx) revokeKey(id int64) {
	t.endBearer(tokenKey, "api_keys", id, audit.KeyRevoked, "key")
}

// AddAgentKey stores the key of a personal agent; see store.AgentKeyStore.
func (s *Store) AddAgentKey(ctx context.Context, k store.AgentKey,
	seal func(id int64) (string, error)) (store.AgentKey, error) {
	err := s.update(ctx, "add agent key", k.User, func(t *tx) {
		t.requirePerson()
		k.ID = t.sharedID()
		if t.err != nil {
			return
		}
		var err error
		k.Sealed, err = seal(k.ID)
		t.fail(err)
		t.did(audit.AgentMade, "agent", k.ID)
		t.exec(`INSERT INTO agent_keys (user_id, id, name, sealed, created_at) VALUES ($1, $2, $3, $4, $5)`, k.User, k.ID, k.Name, k.Sealed, ms(k.CreatedAt))
	})
	return k, err
}

// AgentKeys lists the keys of all users; see store.AgentKeyStore.
func (s *Store) AgentKeys(ctx context.Context) ([]store.AgentKey, error) {
	scan := fields(func(k *store.AgentKey) []any { return []any{&k.User, &k.ID, &k.Name, &k.Sealed, asTime(&k.CreatedAt)} })
	return list(s.one(ctx), scan, `SELECT user_id, id, name, sealed, created_at FROM agent_keys ORDER BY user_id, id`)
}

// RemoveAgentKey removes a user's key; see store.AgentKeyStore.
func (s *Store) RemoveAgentKey(ctx context.Context, user core.UserID, id int64) error {
	return s.update(ctx, "remove agent key", user, func(t *tx) {
		t.execOr(core.ErrNotFound, `DELETE FROM agent_keys WHERE user_id = $1 AND id = $2`, t.user, id)
		t.did(audit.AgentGone, "agent", id)
	})
}
