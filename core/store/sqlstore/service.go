package sqlstore

import (
	"context"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/audit"
	"github.com/everthread/everthread/core/store"
)

const grantColumns = `user_id, service, id, version, sealed, expires_at, created_at`

func scanGrant(row scanner) (g store.ServiceGrant, err error) {
	return g, found(row.Scan(&g.User, &g.Service, &g.ID, &g.Version, &g.Sealed, asTime(&g.Expires), asTime(&g.CreatedAt)))
}

// ServiceGrant returns a user's grant for a service; see store.ServiceStore.
func (s *Store) ServiceGrant(ctx context.Context, user core.UserID, service string) (store.ServiceGrant, error) {
	g, err := scanGrant(s.one(ctx).row(`SELECT `+grantColumns+` FROM mcp_grants WHERE user_id = $1 AND service = $2`, user, service))
	return g, wrap("read grant", err)
}

// ServiceGrants lists a user's grants; see store.ServiceStore.
func (s *Store) ServiceGrants(ctx context.Context, user core.UserID) ([]store.ServiceGrant, error) {
	return list(s.one(ctx), scanGrant, `SELECT `+grantColumns+` FROM mcp_grants WHERE user_id = $1 ORDER BY service`, user)
}

// PutServiceGrant stores a new grant; see store.ServiceStore.
func (s *Store) PutServiceGrant(ctx context.Context, g store.ServiceGrant) (store.ServiceGrant, error) {
	err := s.update(ctx, "put grant", g.User, func(t *tx) {
		t.requirePerson()
		g.ID, g.Version = t.nextID(), 0
		t.exec(`DELETE FROM mcp_grants WHERE user_id = $1 AND service = $2`, t.user, g.Service)
		t.exec(`INSERT INTO mcp_grants (user_id, service, id, sealed, expires_at, created_at) VALUES ($1, $2, $3, $4, $5, $6)`,
			t.user, g.Service, g.ID, g.Sealed, ms(g.Expires), ms(g.CreatedAt))
		t.listServices()
		t.did(audit.Connected, "service", g.ID)
	})
	return g, err
}

// listServices writes the names of the user's services to the user.
func (t *tx) listServices() {
	names := listOf(t, column[string], `SELECT service FROM mcp_grants WHERE user_id = $1 ORDER BY service`, t.user)
	if names == nil {
		names = []string{}
	}
	t.exec(`UPDATE users SET services = $2 WHERE id = $1`, t.user, text(names))
}

// version is the condition of a version of a grant: $1 to $4 are its user, service, id and version.
const version = ` WHERE user_id = $1 AND service = $2 AND id = $3 AND version = $4`

// TakeServiceGrant gives the right to renew a grant to one caller; see store.ServiceStore.
func (s *Store) TakeServiceGrant(ctx context.Context, g store.ServiceGrant, now, until time.Time) (took bool, err error) {
	err = s.update(ctx, "take grant", g.User, func(t *tx) {
		took = t.count(`UPDATE mcp_grants SET taken_until = $6`+version+` AND taken_until <= $5`, t.user, g.Service, g.ID, g.Version,
			ms(now), ms(until)) == 1
	})
	return took && err == nil, err
}

// RenewServiceGrant replaces the tokens of a grant; see store.ServiceStore.
func (s *Store) RenewServiceGrant(ctx context.Context, g store.ServiceGrant) error {
	return s.update(ctx, "renew grant", g.User, func(t *tx) {
		t.execOr(core.ErrNotFound, `UPDATE mcp_grants SET sealed = $5, expires_at = $6, version = version + 1, taken_until = 0`+version,
			t.user, g.Service, g.ID, g.Version, g.Sealed, ms(g.Expires))
	})
}

// FreeServiceGrant ends TakeServiceGrant; see store.ServiceStore.
func (s *Store) FreeServiceGrant(ctx context.Context, g store.ServiceGrant) error {
	return s.update(ctx, "free grant", g.User, func(t *tx) {
		t.exec(`UPDATE mcp_grants SET taken_until = 0`+version, t.user, g.Service, g.ID, g.Version)
	})
}

// DropServiceGrant deletes a grant; see store.ServiceStore.
func (s *Store) DropServiceGrant(ctx context.Context, g store.ServiceGrant) (dropped bool, err error) {
	err = s.update(ctx, "drop grant", g.User, func(t *tx) {
		if dropped = t.count(`DELETE FROM mcp_grants`+version, t.user, g.Service, g.ID, g.Version) == 1; dropped {
			t.listServices()
			t.did(audit.Unconnected, "service", g.ID)
		}
	})
	return dropped && err == nil, err
}
