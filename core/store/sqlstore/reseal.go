package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/everthread/everthread/core"
)

// Reseal passes every encrypted value of the store to f and stores the result, all in one
// transaction: after an error nothing is changed.
func (s *Store) Reseal(ctx context.Context, f func(v core.Sealed) (string, error)) (changed int, err error) {
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return 0, fmt.Errorf("reseal: %w", err)
	}
	defer func() { _ = tx.Rollback() }()
	r := resealer{ctx: ctx, tx: tx, lock: s.dialect.Lock, f: f}
	steps := map[string]func() error{"agent_keys.sealed": r.agents, "states.value": r.states, "users.settings": r.settings}
	for _, table := range Tables() {
		for _, column := range table.Sealed {
			step, known := steps[table.Name+"."+column]
			if !known {
				return 0, fmt.Errorf("reseal: how %s.%s is sealed is not known", table.Name, column)
			}
			if err := step(); err != nil {
				return 0, fmt.Errorf("reseal: %w", err)
			}
		}
	}
	if err := tx.Commit(); err != nil {
		return 0, fmt.Errorf("reseal: %w", err)
	}
	return r.changed, nil
}

type resealer struct {
	ctx     context.Context
	tx      *sql.Tx
	lock    string
	f       func(v core.Sealed) (string, error)
	changed int
}

// each calls f for rows of three columns, after it has read all of them.
func (r *resealer) each(query string, f func(a, b, c string) error) error {
	rows, err := r.tx.QueryContext(r.ctx, query) //nolint:rowserrcheck // collect looks
	list, err := collect(rows, err, func(row scanner) (v [3]string, err error) { return v, row.Scan(&v[0], &v[1], &v[2]) })
	for v := range until(&err, list) {
		err = f(v[0], v[1], v[2])
	}
	return err
}

// put replaces a value with the result of f.
func (r *resealer) put(v core.Sealed, update string, args ...any) error {
	text, err := r.f(v)
	if err != nil || text == v.Text {
		return err
	}
	r.changed++
	_, err = r.tx.ExecContext(r.ctx, update, append([]any{text}, args...)...)
	return err
}

func (r *resealer) agents() error {
	return r.each(`SELECT CAST(user_id AS text), CAST(id AS text), sealed FROM agent_keys`+r.lock, func(user, id, sealed string) error {
		v := core.Sealed{Kind: core.SealedAgent, Text: sealed}
		if _, err := fmt.Sscan(id, &v.Agent); err != nil {
			return err
		}
		return r.put(v, `UPDATE agent_keys SET sealed = $1 WHERE user_id = CAST($2 AS bigint) AND id = $3`, user, v.Agent)
	})
}

func (r *resealer) states() error {
	return r.each(`SELECT account, key, value FROM states WHERE key LIKE 'secret%' AND value <> ''`+r.lock, func(account, key, value string) error {
		return r.put(core.Sealed{Kind: core.SealedState, Account: account, Key: key, Text: value},
			`UPDATE states SET value = $1 WHERE account = $2 AND key = $3`, account, key)
	})
}

// settings changes only the encrypted text in users' settings.
func (r *resealer) settings() error {
	return r.each(`SELECT CAST(id AS text), settings, '' FROM users WHERE settings LIKE '%"embeddings":{%'`+r.lock,
		func(id, settings, _ string) error {
			var s core.Settings
			if err := json.Unmarshal([]byte(settings), &s); err != nil {
				return err
			}
			if s.Embeddings.Sealed == "" {
				return nil
			}
			sealed, err := r.f(core.Sealed{Kind: core.SealedSettings, Text: s.Embeddings.Sealed})
			if err != nil || sealed == s.Embeddings.Sealed {
				return err
			}
			r.changed++
			_, err = r.tx.ExecContext(r.ctx, `UPDATE users SET settings = $1 WHERE id = CAST($2 AS bigint)`,
				strings.ReplaceAll(settings, s.Embeddings.Sealed, sealed), id)
			return err
		})
}
