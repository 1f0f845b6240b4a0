package sqlstore

import (
	"context"
	"fmt"
	"strings"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

// Reseal passes every encrypted value of the store to f and stores the result, all in one
// transaction: after an error nothing is changed.
func (s *Store) Reseal(ctx context.Context, f func(v store.Sealed) (string, error)) (changed int, err error) {
	err = s.writeSharedLong(ctx, "reseal", func(t *transaction) {
		r := resealer{transaction: t, f: f}
		steps := map[string]func(){"agent_keys.sealed": r.agents, "states.value": r.states, "users.settings": r.settings,
			"mcp_grants.sealed": r.grants, "sessions.push": r.subscriptions}
		for _, table := range Tables() {
			for _, column := range table.Sealed {
				if step, known := steps[table.Name+"."+column]; known {
					step()
				} else {
					t.fail(fmt.Errorf("how %s.%s is sealed is not known", table.Name, column))
				}
			}
		}
		changed = r.changed
	})
	if err != nil {
		return 0, err
	}
	return changed, nil
}

type resealer struct {
	*transaction
	f       func(v store.Sealed) (string, error)
	changed int
}

// put passes a value to f, and the result to store if it differs.
func (r *resealer) put(v store.Sealed, store func(sealed string)) {
	if r.err != nil {
		return
	}
	sealed, err := r.f(v)
	if r.fail(err); err == nil && sealed != v.Text {
		r.changed++
		store(sealed)
	}
}

func (r *resealer) agents() {
	scan := fields(func(k *store.AgentKey) []any { return []any{&k.User, &k.ID, &k.Sealed} })
	for _, k := range listOf(r, scan, `SELECT user_id, id, sealed FROM agent_keys`+r.s.dialect.Lock) {
		r.put(store.Sealed{Kind: store.SealedAgent, Agent: k.ID, Text: k.Sealed}, func(sealed string) {
			r.exec(`UPDATE agent_keys SET sealed = $3 WHERE user_id = $1 AND id = $2`, k.User, k.ID, sealed)
		})
	}
}

func (r *resealer) grants() {
	scan := fields(func(g *store.ServiceGrant) []any { return []any{&g.User, &g.Service, &g.Sealed} })
	for _, g := range listOf(r, scan, `SELECT user_id, service, sealed FROM mcp_grants`+r.s.dialect.Lock) {
		r.put(store.Sealed{Kind: store.SealedGrant, Key: g.Service, Text: g.Sealed}, func(sealed string) {
			r.exec(`UPDATE mcp_grants SET sealed = $3 WHERE user_id = $1 AND service = $2`, g.User, g.Service, sealed)
		})
	}
}

func (r *resealer) subscriptions() {
	scan := fields(func(n *store.Session) []any { return []any{&n.User, &n.ID, &n.Push.Sealed} })
	for _, n := range listOf(r, scan, `SELECT user_id, id, push FROM sessions WHERE push <> ''`+r.s.dialect.Lock) {
		r.put(store.Sealed{Kind: store.SealedPush, Agent: n.ID, Text: n.Push.Sealed}, func(sealed string) {
			r.exec(`UPDATE sessions SET push = $3 WHERE user_id = $1 AND id = $2`, n.User, n.ID, sealed)
		})
	}
}

func (r *resealer) states() {
	scan := fields(func(v *store.Sealed) []any { return []any{&v.Account, &v.Key, &v.Text} })
	for _, v := range listOf(r, scan, `SELECT account, key, value FROM states WHERE key LIKE 'secret%' AND value <> ''`+
		r.s.dialect.Lock) {
		v.Kind = store.SealedState
		r.put(v, func(sealed string) {
			r.exec(`UPDATE states SET value = $3 WHERE account = $1 AND key = $2`, v.Account, v.Key, sealed)
		})
	}
}

// settings changes only the encrypted text in users' settings.
func (r *resealer) settings() {
	type row struct {
		id     core.UserID
		stored string
	}
	for _, u := range listOf(r, fields(func(u *row) []any { return []any{&u.id, &u.stored} }),
		`SELECT id, settings FROM users WHERE settings LIKE '%"embeddings":{%'`+r.s.dialect.Lock) {
		var s core.Settings
		if r.fail(unjson(u.stored, &s)); s.Embeddings.Sealed == "" {
			continue
		}
		r.put(store.Sealed{Kind: store.SealedSettings, Text: s.Embeddings.Sealed}, func(sealed string) {
			r.exec(`UPDATE users SET settings = $2 WHERE id = $1`, u.id, strings.ReplaceAll(u.stored, s.Embeddings.Sealed, sealed))
		})
	}
}
